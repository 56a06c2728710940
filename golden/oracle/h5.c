/* SPDX-License-Identifier: Apache-2.0 */
/* The file format "layercheck-1": a group per case, a dataset per tensor. Storage is kept as little-endian
 * bytes. */
#include "oracle.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORAGE_MAX = 1 << 28, SIZE_MAX_OF_A_DIMENSION = 1 << 30 };

static hid_t file_type(const enum type type)
{
    const hid_t of[TYPE_COUNT] = { H5T_STD_U16LE, H5T_IEEE_F32LE, H5T_STD_U8LE,  H5T_STD_U8LE,
                                   H5T_STD_U8LE,  H5T_STD_I32LE,  H5T_STD_I64LE, H5T_IEEE_F64LE };
    return of[type];
}

/* ---- reading ---- */

/* A fixed or a variable string, or NULL. */
static char *read_text(const hid_t attribute, const hid_t type)
{
    char *text = NULL, *out = NULL;

    if (H5Tis_variable_str(type) > 0) {
        if (H5Aread(attribute, type, &text) >= 0 && text != NULL) {
            out = copy_text(text);
            H5free_memory(text);
        }
        return out;
    }
    text = need(calloc(H5Tget_size(type) + 1, 1));
    if (H5Aread(attribute, type, text) >= 0)
        out = copy_text(text);
    free(text);
    return out;
}

static int read_value(struct attribute *const a, const hid_t attribute, const hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        a->kind = KIND_INTEGER;
        return H5Aread(attribute, H5T_NATIVE_INT64, &a->i) < 0 ? -1 : 0;
    case H5T_FLOAT:
        a->kind = KIND_REAL;
        return H5Aread(attribute, H5T_NATIVE_DOUBLE, &a->f) < 0 ? -1 : 0;
    case H5T_STRING:
        a->kind = KIND_TEXT;
        a->text = read_text(attribute, type);
        return a->text == NULL ? -1 : 0;
    default:
        return -1;
    }
}

/* All attributes of an object, by name: one integer, real or string each. */
static int read_attributes(struct attributes *const about, const hid_t object, struct why *const why)
{
    H5O_info_t info;

    if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) < 0)
        return refuse(why, "attributes cannot be read");
    for (hsize_t i = 0; i < info.num_attrs; i++) {
        const hid_t at = H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t type = H5Aget_type(at), space = H5Aget_space(at);
        const ssize_t length = H5Aget_name(at, 0, NULL);
        struct attribute *const a = attribute_add(about);
        int status = -1;

        a->name = need(calloc(length > 0 ? (size_t) length + 1 : 1, 1));
        if (length > 0 && H5Aget_name(at, (size_t) length + 1, a->name) >= 0 && H5Sget_simple_extent_npoints(space) == 1)
            status = read_value(a, at, type);
        H5Sclose(space);
        H5Tclose(type);
        H5Aclose(at);
        if (status != 0)
            return refuse(why, "attribute %s is not one integer, real or string", a->name);
    }
    return 0;
}

static int read_word(const hid_t dataset, const char *const name, char *const out, const size_t size)
{
    const hid_t at = H5Aopen(dataset, name, H5P_DEFAULT), type = H5Aget_type(at), space = H5Aget_space(at);
    char *const text = at >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1
                           ? read_text(at, type)
                           : NULL;
    const int ok = text != NULL && strlen(text) < size;

    if (ok)
        strcpy(out, text);
    free(text);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(at);
    return ok ? 0 : -1;
}

/* `shape` or `stride`; the rank, or -1. */
static int read_axes(const hid_t dataset, const char *const name, int64_t axes[3])
{
    const hid_t at = H5Aopen(dataset, name, H5P_DEFAULT), type = H5Aget_type(at), space = H5Aget_space(at);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const int ok = at >= 0 && H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_ndims(space) == 1 && n >= 1 && n <= 3 &&
                   H5Aread(at, H5T_NATIVE_INT64, axes) >= 0;

    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(at);
    return ok ? (int) n : -1;
}

/* Storage dims and element type must be the format's, and every element of the view inside the storage. */
static int check_tensor(const struct tensor *const t, const hid_t type, struct why *const why)
{
    const hid_t want = file_type(t->type);
    int64_t first = 0, last = 0, elements = 1;

    if (H5Tget_class(type) != H5Tget_class(want) || H5Tget_size(type) != H5Tget_size(want) ||
        (H5Tget_class(want) == H5T_INTEGER && H5Tget_sign(type) != H5Tget_sign(want)))
        return refuse(why, "%s: another element type than its dtype %s has", t->name, type_name(t->type));
    for (int i = 0; i < t->rank; i++) {
        const int64_t n = t->shape[i], stride = t->stride[i];
        if (n < 0 || n > SIZE_MAX_OF_A_DIMENSION || stride > SIZE_MAX_OF_A_DIMENSION || -stride > SIZE_MAX_OF_A_DIMENSION)
            return refuse(why, "%s: shape or stride %d is out of range", t->name, i);
        elements = n == 0 ? 0 : elements;
        first += n > 1 && stride < 0 ? (n - 1) * stride : 0;
        last += n > 1 && stride > 0 ? (n - 1) * stride : 0;
    }
    if (elements > 0 && (first < 0 || last >= (int64_t) t->count))
        return refuse(why, "%s: the view leaves the storage", t->name);
    return 0;
}

static int read_storage(struct tensor *const t, const hid_t dataset, const hid_t space, struct why *const why)
{
    hsize_t dims[H5S_MAX_RANK];

    t->store_rank = H5Sget_simple_extent_ndims(space);
    if (t->store_rank < 1 || t->store_rank > 3)
        return refuse(why, "%s: storage has rank %d, not 1..3", t->name, t->store_rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    t->count = 1;
    for (int i = 0; i < t->store_rank; i++) {
        if (dims[i] > STORAGE_MAX || t->count * dims[i] > STORAGE_MAX)
            return refuse(why, "%s: storage is too large", t->name);
        t->store[i] = (int64_t) dims[i];
        t->count *= dims[i];
    }
    t->data = need(calloc(t->count + 1, type_size(t->type)));
    if (t->count > 0 && H5Dread(dataset, file_type(t->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, t->data) < 0)
        return refuse(why, "%s: data cannot be read", t->name);
    return 0;
}

static int read_dataset(struct tensor *const t, const hid_t dataset, struct why *const why)
{
    char dtype[8], dir[4];
    int type = 0;

    if (read_word(dataset, "dtype", dtype, sizeof dtype) != 0)
        return refuse(why, "%s: no good attribute dtype", t->name);
    while (type < TYPE_F64 && strcmp(dtype, type_name((enum type) type)) != 0)
        type++;
    if (type == TYPE_F64)
        return refuse(why, "%s: unknown dtype %s", t->name, dtype);
    t->type = (enum type) type;
    if (read_word(dataset, "dir", dir, sizeof dir) != 0 || (strcmp(dir, "in") != 0 && strcmp(dir, "out") != 0))
        return refuse(why, "%s: attribute dir is neither in nor out", t->name);
    t->is_out = strcmp(dir, "out") == 0;
    t->rank = read_axes(dataset, "shape", t->shape);
    if (t->rank < 0 || read_axes(dataset, "stride", t->stride) != t->rank)
        return refuse(why, "%s: attributes shape and stride are not 1 to 3 integers each", t->name);

    const hid_t space = H5Dget_space(dataset), element = H5Dget_type(dataset);
    const int status = read_storage(t, dataset, space, why) != 0 ? -1 : check_tensor(t, element, why);

    H5Tclose(element);
    H5Sclose(space);
    return status;
}

/* Opens the i-th link in the order of names. *name is the caller's. */
static hid_t open_link(const hid_t group, const hsize_t i, char **const name)
{
    const ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);

    *name = need(calloc(length > 0 ? (size_t) length + 1 : 1, 1));
    if (length > 0)
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, *name, (size_t) length + 1, H5P_DEFAULT);
    return length > 0 ? H5Oopen(group, *name, H5P_DEFAULT) : -1;
}

/* What an earlier oracle run put there is left behind. */
static int is_bare(const char *const name)
{
    return strcmp(name, "y.v") == 0 || strcmp(name, "y.lo") == 0 || strcmp(name, "y.hi") == 0;
}

static int read_case(struct test_case *const c, const hid_t group, struct why *const why)
{
    H5G_info_t info;

    if (H5Gget_info(group, &info) < 0 || read_attributes(&c->about, group, why) != 0)
        return -1;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char *name;
        const hid_t dataset = open_link(group, i, &name);
        int status = 0;

        if (is_bare(name))
            free(name);
        else {
            struct tensor *const t = tensor_add(c);
            t->name = name;
            status = dataset >= 0 && H5Iget_type(dataset) == H5I_DATASET ? read_dataset(t, dataset, why)
                                                                         : refuse(why, "%s: no dataset", name);
        }
        H5Oclose(dataset);
        if (status != 0)
            return -1;
    }
    return 0;
}

static int read_cases(struct golden *const golden, const hid_t root, struct why *const why)
{
    H5G_info_t info;

    if (H5Gget_info(root, &info) < 0 || read_attributes(&golden->about, root, why) != 0)
        return -1;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        struct why inner = { "not a group that can be read" };
        struct test_case *const c = case_add(golden);
        const hid_t group = open_link(root, i, &c->id);
        const int status = group >= 0 && H5Iget_type(group) == H5I_GROUP ? read_case(c, group, &inner) : -1;

        H5Oclose(group);
        if (status != 0)
            return refuse(why, "%.150s: %.240s", c->id, inner.text);
    }
    return 0;
}

int golden_read(struct golden *const golden, const char *const path, struct why *const why)
{
    H5dont_atexit(); /* it can crash there, with a file that could not be written or is damaged */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);

    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

    if (file < 0)
        return refuse(why, "not an HDF5 file that can be read");

    const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    const int status = read_cases(golden, root, why);

    H5Gclose(root);
    H5Fclose(file);
    return status;
}

/* ---- writing ---- */

/* A failed hid_t makes every call that gets it fail, so only the last calls' results are looked at. */

static int write_scalar(const hid_t object, const char *const name, const hid_t type, const hid_t memory_type,
                        const void *const value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t at = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const int ok = H5Awrite(at, memory_type, value) >= 0;

    H5Sclose(space);
    return H5Aclose(at) >= 0 && ok ? 0 : -1;
}

/* A fixed string, with its final NUL. */
static int write_text(const hid_t object, const char *const name, const char *const text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const int status = H5Tset_size(type, strlen(text) + 1) < 0 ? -1 : write_scalar(object, name, type, type, text);

    H5Tclose(type);
    return status;
}

static int write_axes(const hid_t object, const char *const name, const int64_t *const axes, const int rank)
{
    const hsize_t n = (hsize_t) rank;
    const hid_t space = H5Screate_simple(1, &n, NULL);
    const hid_t at = H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    const int ok = H5Awrite(at, H5T_NATIVE_INT64, axes) >= 0;

    H5Sclose(space);
    return H5Aclose(at) >= 0 && ok ? 0 : -1;
}

static int write_attributes(const struct attributes *const about, const hid_t object)
{
    int status = 0;

    for (size_t i = 0; status == 0 && i < about->count; i++) {
        const struct attribute *const a = &about->item[i];
        if (a->kind == KIND_TEXT)
            status = write_text(object, a->name, a->text);
        else if (a->kind == KIND_INTEGER)
            status = write_scalar(object, a->name, H5T_STD_I64LE, H5T_NATIVE_INT64, &a->i);
        else
            status = write_scalar(object, a->name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &a->f);
    }
    return status;
}

/* One chunk, compressed; an empty dataset has none. */
static hid_t dataset_plan(const struct tensor *const t, const hsize_t *const dims)
{
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_obj_track_times(plan, 0);
    if (t->count > 0) {
        H5Pset_chunk(plan, t->store_rank, dims);
        H5Pset_shuffle(plan);
        H5Pset_deflate(plan, 6);
        H5Pset_fletcher32(plan);
    }
    return plan;
}

static int write_tensor(const struct tensor *const t, const hid_t group)
{
    const hsize_t dims[3] = { (hsize_t) t->store[0], (hsize_t) t->store[1], (hsize_t) t->store[2] };
    const hid_t type = file_type(t->type), space = H5Screate_simple(t->store_rank, dims, NULL);
    const hid_t plan = dataset_plan(t, dims);
    const hid_t at = H5Dcreate2(group, t->name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    int ok = t->count == 0 || H5Dwrite(at, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->data) >= 0;

    if (!t->bare)
        ok = ok && write_text(at, "dtype", type_name(t->type)) == 0 && write_text(at, "dir", t->is_out ? "out" : "in") == 0 &&
             write_axes(at, "shape", t->shape, t->rank) == 0 && write_axes(at, "stride", t->stride, t->rank) == 0;
    H5Pclose(plan);
    H5Sclose(space);
    return H5Dclose(at) >= 0 && ok ? 0 : -1;
}

static int write_case(const struct test_case *const c, const hid_t root)
{
    const hid_t plan = H5Pcreate(H5P_GROUP_CREATE);

    H5Pset_obj_track_times(plan, 0);

    const hid_t group = H5Gcreate2(root, c->id, H5P_DEFAULT, plan, H5P_DEFAULT);
    int status = write_attributes(&c->about, group);

    for (size_t i = 0; status == 0 && i < c->count; i++)
        status = write_tensor(&c->tensor[i], group);
    H5Pclose(plan);
    return H5Gclose(group) >= 0 ? status : -1;
}

int golden_write(const struct golden *const golden, const char *const path, struct why *const why)
{
    const hid_t create = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);

    H5Pset_obj_track_times(create, 0);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);

    errno = 0; /* the library leaves that of a write that failed */

    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
    const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    int status = write_attributes(&golden->about, root);

    for (size_t i = 0; status == 0 && i < golden->count; i++)
        status = write_case(&golden->item[i], root);
    H5Gclose(root);
    H5Pclose(create);
    H5Pclose(access);
    if (file < 0)
        return refuse(why, "cannot be created: %s", strerror(errno ? errno : EIO));
    if (H5Fclose(file) < 0 || status != 0) {
        const int reason = errno;
        remove(path);
        return refuse(why, "cannot be written: %s", strerror(reason ? reason : EIO));
    }
    return 0;
}
