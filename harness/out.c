/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "golden.h"
#include "version.h"

json_int_t int_of(json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

double real_of(json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

const char *text_of(json_t *o, const char *key)
{
    const char *const s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

json_t *out_words(const char *text)
{
    char *const copy = strdup(text);
    for (char *at = copy; copy && *at; at++)
        if (*at != '\n' && (*at < ' ' || *at > '~'))
            *at = '?';
    json_t *const o = json_string(copy);
    free(copy);
    return o;
}

const char *outcome_of(json_t *result)
{
    return text_of(result, "outcome");
}

static const char *shout(const char *outcome)
{
    static const char *const pair[][2] = { { "fail", "FAIL" },     { "crash", "CRASH" },     { "timeout", "TIMEOUT" },
                                           { "broken", "BROKEN" }, { "vacuous", "VACUOUS" }, { "unsupported", "UNSUPPORTED" } };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (!strcmp(outcome, pair[i][0]))
            return pair[i][1];
    return outcome;
}

static void histogram(FILE *to, json_t *result)
{
    const char *name;
    json_t *tensor;
    json_object_foreach(json_object_get(result, "tensors"), name, tensor) {
        fprintf(to, "       %-12s ulp", name);
        for (size_t i = 0; i < json_array_size(json_object_get(tensor, "ulps")); i++)
            fprintf(to, "  %s%+d:%lld", i == 0 || i == 8 ? "|" : "", (int) i - 4,
                    (long long) json_integer_value(json_array_get(json_object_get(tensor, "ulps"), i)));
        fprintf(to, "  bias %+.4g ulp, slack used %.3f\n", real_of(tensor, "bias_ulp"), real_of(tensor, "slack"));
    }
}

void out_failure(FILE *to, json_t *result, bool verbose)
{
    size_t i;
    json_t *f;
    fprintf(to, "%-7s %s/%s %s", shout(outcome_of(result)), text_of(result, "backend"), text_of(result, "kernel"),
            text_of(result, "case"));
    if (text_of(result, "msg")[0])
        fprintf(to, "\n        %s", text_of(result, "msg"));
    json_array_foreach(json_object_get(result, "findings"), i, f) {
        if (strcmp(text_of(f, "check"), "value")) {
            fprintf(to, "\n        %s: %s", text_of(f, "check"), text_of(f, "words"));
            if (int_of(f, "count") > 1)
                fprintf(to, "; %lld such bytes", (long long) int_of(f, "count"));
            continue;
        }
        json_t *const t = json_object_get(json_object_get(result, "tensors"), text_of(f, "tensor"));
        fprintf(to,
                "\n        value: %s[%lld,%lld] got %s (%s) want %s (v %s in [%s, %s]), %+lld ulp; %lld of %lld unexplained (%s",
                text_of(f, "tensor"), (long long) int_of(f, "row"), (long long) int_of(f, "col"), text_of(f, "got"),
                text_of(f, "got_value"), text_of(f, "want"), text_of(f, "v"), text_of(f, "lo"), text_of(f, "hi"),
                (long long) int_of(f, "ulp"), (long long) int_of(f, "count"),
                (long long) (int_of(t, "exact") + int_of(t, "explained") + int_of(t, "unexplained")), text_of(f, "clause"));
        if (real_of(f, "k") > 0)
            fprintf(to, ", %g u", real_of(f, "k"));
        fprintf(to, ")");
    }
    if (text_of(result, "file")[0])
        fprintf(to, "\n        rerun: layercheck judge %s --case '%s' -v\n", text_of(result, "file"), text_of(result, "case"));
    else
        fprintf(to, "\n        rerun: layercheck run --backend %s --case '%s' -v\n", text_of(result, "backend"),
                text_of(result, "case"));
    if (verbose)
        histogram(to, result);
}

static bool terminal(void)
{
    return isatty(2);
}

void out_progress(size_t done, size_t of, json_t *result)
{
    if (terminal())
        fprintf(stderr, "\r\033[K[%zu/%zu] %s/%s %.60s", done, of, text_of(result, "backend"), text_of(result, "kernel"),
                text_of(result, "case"));
}

void out_progress_end(void)
{
    if (terminal())
        fprintf(stderr, "\r\033[K");
}

/* ---- summary ---- */

static void bump(json_t *row, const char *key, json_int_t by)
{
    json_object_set_new(row, key, json_integer(int_of(row, key) + by));
}

static void raise_to(json_t *row, const char *key, double v)
{
    if (v > real_of(row, key) || !json_object_get(row, key))
        json_object_set_new(row, key, json_real(v));
}

json_t *out_summary(json_t *results, const struct run_facts *facts)
{
    static const char *const sums[] = {
        "elements", "exact", "explained", "unexplained", "unspecified", "ambiguous", "two_scale"
    };
    json_t *const rows = json_object(), *const totals = json_object();
    size_t i;
    json_t *r;
    json_array_foreach(results, i, r) {
        char key[256];
        snprintf(key, sizeof key, "%s/%s %s", text_of(r, "backend"), text_of(r, "kernel"), text_of(r, "op"));
        json_t *row = json_object_get(rows, key);
        if (!row) {
            row = json_object();
            json_object_set_new(rows, key, row);
        }
        json_t *const both[2] = { row, totals };
        for (int k = 0; k < 2; k++) {
            bump(both[k], "cases", 1);
            bump(both[k], outcome_of(r), 1);
            for (size_t s = 0; s < sizeof sums / sizeof *sums; s++)
                bump(both[k], sums[s], int_of(r, sums[s]));
            raise_to(both[k], "slack", real_of(r, "slack"));
            json_object_set_new(both[k], "ms", json_real(real_of(both[k], "ms") + real_of(r, "ms")));
        }
    }
    char when[32];
    const time_t t = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    json_t *const s = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:o, s:o}", "program", "layercheck " LC_VERSION,
                                "revision", LC_REVISION, "contract", contract_hash, "date", when, "suite", facts->suite,
                                "command", facts->command, "suite_cases", (json_int_t) facts->cases, "seconds", facts->seconds,
                                "rows", rows, "totals", totals);
    if (facts->devices)
        json_object_set(s, "devices", facts->devices);
    return s;
}

void out_text(FILE *to, json_t *s)
{
    const char *key;
    json_t *row;
    fprintf(to, "%s %s, contract %.12s, suite %s: %lld cases\n", text_of(s, "program"), text_of(s, "revision"),
            text_of(s, "contract"), text_of(s, "suite"), (long long) int_of(s, "suite_cases"));
    json_object_foreach(json_object_get(s, "devices"), key, row)
        fprintf(to, "%s: %s, compute capability %s, driver %s, CUDA runtime %s, nvcc %s\n", key, text_of(row, "name"),
                text_of(row, "compute_capability"), text_of(row, "driver"), text_of(row, "cuda_runtime"), text_of(row, "nvcc"));
    fprintf(to, "%-34s %5s %5s %5s %6s %5s %12s %10s %7s %10s\n", "backend/kernel op", "cases", "pass", "fail", "unsup.", "other",
            "elements", "explained", "slack", "elem/s");
    json_object_foreach(json_object_get(s, "rows"), key, row) {
        const json_int_t other = int_of(row, "crash") + int_of(row, "timeout") + int_of(row, "broken") + int_of(row, "vacuous");
        fprintf(to, "%-34s %5lld %5lld %5lld %6lld %5lld %12lld %10lld %7.3f %10.3g\n", key, (long long) int_of(row, "cases"),
                (long long) int_of(row, "pass"), (long long) int_of(row, "fail"), (long long) int_of(row, "unsupported"),
                (long long) other, (long long) int_of(row, "elements"), (long long) int_of(row, "explained"),
                real_of(row, "slack"), real_of(row, "ms") > 0 ? (double) int_of(row, "elements") / real_of(row, "ms") * 1e3 : 0);
    }
    json_t *const t = json_object_get(s, "totals");
    fprintf(
        to,
        "%lld of %lld cases passed, %lld elements judged: %lld exact, %lld tie-explained, %lld unexplained, %lld unspecified\n",
        (long long) int_of(t, "pass"), (long long) int_of(t, "cases"), (long long) int_of(t, "elements"),
        (long long) int_of(t, "exact"), (long long) int_of(t, "explained"), (long long) int_of(t, "unexplained"),
        (long long) int_of(t, "unspecified"));
    fprintf(to, "%lld ambiguous internal roundings and %lld groups with two legal scales were judged; %.1f s\n",
            (long long) int_of(t, "ambiguous"), (long long) int_of(t, "two_scale"), real_of(s, "seconds"));
}

/* ---- files ---- */

void out_json(FILE *to, json_t *value)
{
    json_dumpf(value, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
}

static void xml_text(FILE *f, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        default:
            if ((unsigned char) *s >= ' ' || *s == '\n')
                fputc(*s, f);
        }
}

void out_junit(FILE *f, json_t *results, json_t *summary)
{
    json_t *const t = json_object_get(summary, "totals");
    const json_int_t errors = int_of(t, "crash") + int_of(t, "timeout") + int_of(t, "broken") + int_of(t, "vacuous");
    fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"layercheck ");
    xml_text(f, text_of(summary, "suite"));
    fprintf(f, "\" tests=\"%lld\" failures=\"%lld\" errors=\"%lld\" skipped=\"%lld\" time=\"%.3f\">\n",
            (long long) int_of(t, "cases"), (long long) int_of(t, "fail"), (long long) errors,
            (long long) int_of(t, "unsupported"), real_of(summary, "seconds"));
    size_t i;
    json_t *r;
    json_array_foreach(results, i, r) {
        const char *const outcome = outcome_of(r);
        fprintf(f, "<testcase classname=\"");
        xml_text(f, text_of(r, "backend"));
        fprintf(f, ".");
        xml_text(f, text_of(r, "kernel"));
        fprintf(f, "\" name=\"");
        xml_text(f, text_of(r, "case"));
        fprintf(f, "\" time=\"%.4f\"", real_of(r, "ms") / 1e3);
        if (!strcmp(outcome, "pass")) {
            fprintf(f, "/>\n");
            continue;
        }
        const char *const tag = !strcmp(outcome, "unsupported") ? "skipped" : !strcmp(outcome, "fail") ? "failure" : "error";
        char *text = NULL;
        size_t size = 0;
        FILE *const words = open_memstream(&text, &size);
        if (words) {
            out_failure(words, r, true);
            fclose(words);
        }
        fprintf(f, "><%s message=\"%s\">", tag, outcome);
        xml_text(f, text ? text : "");
        fprintf(f, "</%s></testcase>\n", tag);
        free(text);
    }
    fprintf(f, "</testsuite>\n</testsuites>\n");
}
