/* SPDX-License-Identifier: Apache-2.0 */
#include "h5.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { MOST_BYTES = 1 << 30 }; /* of a dataset that is read without a case to hold it against */

int h5_say(char *why, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, size, format, list);
    va_end(list);
    return -1;
}

static hid_t file_type(enum lc_dtype f)
{
    switch (f) {
    case LC_F32:
        return H5T_IEEE_F32LE;
    case LC_BF16:
        return H5T_STD_U16LE;
    case LC_I32:
        return H5T_STD_I32LE;
    case LC_I64:
        return H5T_STD_I64LE;
    default:
        return H5T_STD_U8LE;
    }
}

/* ---- reading ---- */

/* A hid_t that could not be had makes every call that gets it fail, and closing it does no harm: only results
 * that decide are looked at. */

hid_t h5_open(const char *path, char *why, size_t size)
{
    H5dont_atexit();                       /* with a damaged file still open it can crash there */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* what the library would print is said by us, once */
    FILE *const f = fopen(path, "rb");
    if (!f)
        return h5_say(why, size, "%s: no such file, or it may not be read", path);
    fclose(f);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return file >= 0 ? file : h5_say(why, size, "%s: no HDF5 file, or it is cut or damaged", path);
}

size_t h5_count(hid_t group)
{
    H5G_info_t info;
    return H5Gget_info(group, &info) < 0 ? 0 : (size_t) info.nlinks;
}

char *h5_name(hid_t group, size_t i)
{
    const ssize_t n = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t) i, NULL, 0, H5P_DEFAULT);
    char *const name = n > 0 ? malloc((size_t) n + 1) : NULL;
    if (name && H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t) i, name, (size_t) n + 1, H5P_DEFAULT) == n)
        return name;
    free(name);
    return NULL;
}

/* Hard links only: a soft one may lead nowhere, an external one to another file. */
bool h5_has(hid_t group, const char *name)
{
    H5L_info_t info;
    return H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Lget_info(group, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5L_TYPE_HARD;
}

hid_t h5_group(hid_t parent, const char *name)
{
    return h5_has(parent, name) ? H5Gopen2(parent, name, H5P_DEFAULT) : -1;
}

/* An attribute with its type and the number of its elements. */
struct attribute {
    hid_t at, type, space;
    hssize_t n;
};

static bool attribute_open(struct attribute *a, hid_t object, const char *name)
{
    *a = (struct attribute) { -1, -1, -1, -1 };
    if (H5Aexists(object, name) <= 0)
        return false;
    a->at = H5Aopen(object, name, H5P_DEFAULT);
    a->type = H5Aget_type(a->at);
    a->space = H5Aget_space(a->at);
    a->n = H5Sget_simple_extent_npoints(a->space);
    return a->at >= 0;
}

static void attribute_close(const struct attribute *a)
{
    H5Sclose(a->space);
    H5Tclose(a->type);
    H5Aclose(a->at);
}

int h5_text(hid_t object, const char *name, char *to, size_t size)
{
    struct attribute a;
    int status = -1;
    const bool found = attribute_open(&a, object, name);
    if (found && a.n == 1 && H5Tget_class(a.type) == H5T_STRING) {
        const bool variable = H5Tis_variable_str(a.type) > 0; /* as h5py writes them */
        const size_t n = H5Tget_size(a.type);
        char *text = variable ? NULL : calloc(n + 1, 1);
        if ((variable || text) && H5Aread(a.at, a.type, variable ? (void *) &text : text) >= 0 && text && strlen(text) < size) {
            strcpy(to, text);
            status = 0;
        }
        if (variable)
            H5free_memory(text);
        else
            free(text);
    }
    attribute_close(&a);
    return status;
}

/* The kind of a scalar (docs/plugins.md): struct lc_scalar does not say it. */
static bool is_real(const struct lc_scalar *s)
{
    static const char *const names[] = { "eps",         "out_scale", "scale",          "base",
                                         "factor",      "beta_fast", "beta_slow",      "extrapolation_factor",
                                         "attn_factor", "mscale",    "mscale_all_dim", "high_freq_cycle_threshold",
                                         "had_scale" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s->name, names[i]))
            return true;
    return false;
}

int h5_same_scalar(hid_t object, const struct lc_scalar *s, char *why, size_t size)
{
    const bool real = is_real(s);
    struct attribute a;
    int64_t i = s->i;
    double f = s->f;
    int status = 0;
    if (!attribute_open(&a, object, s->name))
        ; /* a foreign file may leave it to the case id */
    else if (a.n != 1 || H5Tget_class(a.type) != (real ? H5T_FLOAT : H5T_INTEGER) ||
             H5Aread(a.at, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, real ? (void *) &f : &i) < 0)
        status = h5_say(why, size, "attribute %s is not one %s", s->name, real ? "real" : "integer");
    else if (i != s->i || f != s->f)
        status = h5_say(why, size, "attribute %s is %.9g, the case has %.9g", s->name, real ? f : (double) i,
                        real ? s->f : (double) s->i);
    attribute_close(&a);
    return status;
}

/* The integers of `shape` or `stride` are these. */
static bool axes_are(hid_t dataset, const char *name, const int64_t *axes, int rank)
{
    struct attribute a;
    int64_t got[4] = { 0 };
    const bool same = attribute_open(&a, dataset, name) && a.n == rank && rank <= 4 && H5Tget_class(a.type) == H5T_INTEGER &&
                      H5Aread(a.at, H5T_NATIVE_INT64, got) >= 0 && !memcmp(got, axes, (size_t) rank * sizeof *axes);
    attribute_close(&a);
    return same;
}

static bool same_type(hid_t got, hid_t want)
{
    return H5Tget_class(got) == H5Tget_class(want) && H5Tget_size(got) == H5Tget_size(want) &&
           (H5Tget_class(want) != H5T_INTEGER || H5Tget_sign(got) == H5Tget_sign(want));
}

/* A virtual dataset, or one with external storage, would read other files. */
static bool is_self_contained(hid_t dataset)
{
    const hid_t plan = H5Dget_create_plist(dataset);
    const bool here = H5Pget_layout(plan) != H5D_VIRTUAL && H5Pget_external_count(plan) == 0;
    H5Pclose(plan);
    return here;
}

static hid_t dataset_open(hid_t group, const char *name, char *why, size_t size)
{
    if (!h5_has(group, name))
        return h5_say(why, size, "%s: no such dataset", name);
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0)
        return h5_say(why, size, "%s: no dataset, or a damaged one", name);
    if (is_self_contained(dataset))
        return dataset;
    H5Dclose(dataset);
    return h5_say(why, size, "%s: its data lies in another file", name);
}

static void dims_print(char *to, size_t size, int rank, const int64_t *dims)
{
    size_t n = 0;
    to[0] = 0;
    for (int i = 0; i < rank && n < size; i++)
        n += (size_t) snprintf(to + n, size - n, "%s%lld", i ? ", " : "", (long long) dims[i]);
}

/* The data, if elements and dims are these. */
static int dataset_read(hid_t dataset, const char *name, hid_t type, int rank, const int64_t *dims, void *to, char *why,
                        size_t size)
{
    const hid_t space = H5Dget_space(dataset), element = H5Dget_type(dataset);
    hsize_t got[H5S_MAX_RANK];
    int64_t signed_got[H5S_MAX_RANK], count = 1;
    const int got_rank = H5Sget_simple_extent_ndims(space);
    const bool known = got_rank >= 0 && H5Sget_simple_extent_dims(space, got, NULL) >= 0;
    bool same = known && got_rank == rank;
    for (int i = 0; known && i < got_rank; i++)
        signed_got[i] = (int64_t) got[i];
    for (int i = 0; same && i < rank; i++) {
        same = signed_got[i] == dims[i];
        count *= dims[i];
    }
    int status = 0;
    if (!same_type(element, type))
        status = h5_say(why, size, "%s: elements of another type (%d bytes each, %s) than the format's", name,
                        (int) H5Tget_size(element), H5Tget_class(element) == H5T_FLOAT ? "real" : "no real");
    else if (!same) {
        char is[128], want[128];
        dims_print(is, sizeof is, known ? got_rank : 0, signed_got);
        dims_print(want, sizeof want, rank, dims);
        status = h5_say(why, size, "%s: storage of (%s) elements, the case has (%s)", name, is, want);
    } else if (count > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
        status = h5_say(why, size, "%s: the data cannot be read: cut or damaged (checksum)", name);
    H5Tclose(element);
    H5Sclose(space);
    return status;
}

int h5_read_slot(hid_t group, const struct slot *s, void *to, char *why, size_t size)
{
    const hid_t dataset = dataset_open(group, s->t.name, why, size);
    const char *const dtype = fmt_name((enum lc_dtype) s->t.dtype), *const dir = s->dir == DIR_IN ? "in" : "out";
    char text[16];
    int status = 0;
    if (dataset < 0)
        return -1;
    if (h5_text(dataset, "dtype", text, sizeof text) || strcmp(text, dtype))
        status = h5_say(why, size, "%s: attribute dtype is not \"%s\", as the case has it", s->t.name, dtype);
    else if (h5_text(dataset, "dir", text, sizeof text) || strcmp(text, dir))
        status = h5_say(why, size, "%s: attribute dir is not \"%s\"", s->t.name, dir);
    else if (!axes_are(dataset, "shape", s->t.shape, s->t.rank) || !axes_are(dataset, "stride", s->t.stride, s->t.rank)) {
        char shape[128], stride[128];
        dims_print(shape, sizeof shape, s->t.rank, s->t.shape);
        dims_print(stride, sizeof stride, s->t.rank, s->t.stride);
        status = h5_say(why, size, "%s: attributes shape and stride are not (%s) and (%s), as the case has them", s->t.name,
                        shape, stride);
    } else
        status = dataset_read(dataset, s->t.name, file_type((enum lc_dtype) s->t.dtype), s->storage_rank, s->storage, to, why,
                              size);
    H5Dclose(dataset);
    return status;
}

int h5_read_reals(hid_t group, const char *name, int64_t rows, int64_t cols, double *to, char *why, size_t size)
{
    const int64_t dims[2] = { rows, cols };
    const hid_t dataset = dataset_open(group, name, why, size);
    if (dataset < 0)
        return -1;
    const int status = dataset_read(dataset, name, H5T_IEEE_F64LE, 2, dims, to, why, size);
    H5Dclose(dataset);
    return status;
}

int h5_read_any(hid_t group, const char *name, void **to, size_t *bytes, char *why, size_t size)
{
    const hid_t types[] = { H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE };
    const hid_t dataset = dataset_open(group, name, why, size);
    if (dataset < 0)
        return -1;
    const hid_t space = H5Dget_space(dataset), element = H5Dget_type(dataset);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    hid_t type = -1;
    int status = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        type = same_type(element, types[i]) ? types[i] : type;
    *to = NULL;
    if (type < 0)
        status = h5_say(why, size, "%s: elements of no type that the format has", name);
    else if (n < 0 || n > (hssize_t) (MOST_BYTES / H5Tget_size(type)))
        status = h5_say(why, size, "%s: too large", name);
    else {
        *bytes = (size_t) n * H5Tget_size(type);
        *to = calloc(*bytes + 1, 1);
        if (!*to)
            status = h5_say(why, size, "%s: out of memory", name);
        else if (n > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *to) < 0)
            status = h5_say(why, size, "%s: the data cannot be read: cut or damaged (checksum)", name);
    }
    if (status)
        free(*to);
    H5Tclose(element);
    H5Sclose(space);
    H5Dclose(dataset);
    return status;
}

/* ---- writing ---- */

/* A file is made in memory: where a disk is full the library keeps a file that it cannot close, and crashes later. These are
 * its calls for the memory of the one file to be, which outlives the close that makes it whole. */
static struct {
    uint8_t *at;
    size_t n;
} image;

static void *image_malloc(size_t n, H5FD_file_image_op_t op, void *user)
{
    (void) op;
    (void) user;
    image.at = malloc(n);
    image.n = image.at ? n : 0;
    return image.at;
}

static void *image_realloc(void *at, size_t n, H5FD_file_image_op_t op, void *user)
{
    uint8_t *const more = realloc(at, n);
    (void) op;
    (void) user;
    if (more) {
        image.at = more;
        image.n = n;
    }
    return more;
}

static herr_t image_free(void *at, H5FD_file_image_op_t op, void *user)
{
    (void) at;
    (void) op;
    (void) user;
    return 0;
}

/* The end of the file, as superblocks of version 2 and 3 have it; 0: there is none. */
static size_t image_end(void)
{
    uint64_t end = 0;
    for (int i = 7; i >= 0 && image.n >= 48; i--)
        end = end << 8 | image.at[28 + i];
    return end <= image.n ? (size_t) end : 0;
}

hid_t h5_create(const char *path, char *why, size_t size)
{
    H5FD_file_image_callbacks_t calls = { image_malloc, NULL, image_realloc, image_free, NULL, NULL, NULL };
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (file_try(path))
        return h5_say(why, size, "%s: %s", path, strerror(errno));
    image.at = NULL;
    image.n = 0;
    const hid_t create = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_obj_track_times(create, 0); /* no times: the same content is the same file */
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_fapl_core(access, 1 << 16, 0);
    H5Pset_file_image_callbacks(access, &calls);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
    H5Pclose(create);
    H5Pclose(access);
    return file >= 0 ? file : h5_say(why, size, "%s: cannot be made", path);
}

int h5_finish(hid_t file, const char *path, int status, char *why, size_t size)
{
    char inner[1024] = "cannot be made";
    if (status)
        snprintf(inner, sizeof inner, "%s", why);
    if (H5Fclose(file) < 0 || !image_end())
        status = -1;
    if (!status && file_put(path, image.at, image_end())) {
        snprintf(inner, sizeof inner, "%s", strerror(errno));
        status = -1;
    }
    free(image.at);
    image.at = NULL;
    return status ? h5_say(why, size, "%s: %s", path, inner) : 0;
}

hid_t h5_add_group(hid_t parent, const char *name)
{
    const hid_t plan = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(plan, 0);
    const hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, plan, H5P_DEFAULT);
    H5Pclose(plan);
    return group;
}

/* n NULL: a scalar; else *n values. */
static int put_attribute(hid_t object, const char *name, hid_t type, hid_t memory_type, const hsize_t *n, const void *value)
{
    const hid_t space = n ? H5Screate_simple(1, n, NULL) : H5Screate(H5S_SCALAR);
    const hid_t at = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool fine = H5Awrite(at, memory_type, value) >= 0;
    H5Sclose(space);
    return H5Aclose(at) >= 0 && fine ? 0 : -1;
}

int h5_put_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1); /* fixed, with its final NUL */
    const int status = H5Tset_size(type, strlen(text) + 1) < 0 ? -1 : put_attribute(object, name, type, type, NULL, text);
    H5Tclose(type);
    return status;
}

int h5_put_scalar(hid_t object, const struct lc_scalar *s)
{
    return is_real(s) ? put_attribute(object, s->name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, NULL, &s->f)
                      : put_attribute(object, s->name, H5T_STD_I64LE, H5T_NATIVE_INT64, NULL, &s->i);
}

int h5_write_slot(hid_t group, const struct slot *s, const void *from)
{
    const hsize_t rank = (hsize_t) s->t.rank;
    hsize_t dims[3] = { 0 };
    for (int i = 0; i < s->storage_rank; i++)
        dims[i] = (hsize_t) s->storage[i];
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE), type = file_type((enum lc_dtype) s->t.dtype);
    const hid_t space = H5Screate_simple(s->storage_rank, dims, NULL);
    H5Pset_obj_track_times(plan, 0);
    if (s->bytes > 0) { /* one chunk; an empty dataset has none */
        H5Pset_chunk(plan, s->storage_rank, dims);
        H5Pset_shuffle(plan);
        H5Pset_deflate(plan, 6);
        H5Pset_fletcher32(plan);
    }
    const hid_t dataset = H5Dcreate2(group, s->t.name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    bool fine = s->bytes == 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from) >= 0;
    fine = fine && !h5_put_text(dataset, "dtype", fmt_name((enum lc_dtype) s->t.dtype)) &&
           !h5_put_text(dataset, "dir", s->dir == DIR_IN ? "in" : "out") &&
           !put_attribute(dataset, "shape", H5T_STD_I64LE, H5T_NATIVE_INT64, &rank, s->t.shape) &&
           !put_attribute(dataset, "stride", H5T_STD_I64LE, H5T_NATIVE_INT64, &rank, s->t.stride);
    H5Pclose(plan);
    H5Sclose(space);
    return H5Dclose(dataset) >= 0 && fine ? 0 : -1;
}
