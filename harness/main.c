/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "golden.h"
#include "version.h"
#include "worker.h"

static const char help[] =
    "usage: layercheck COMMAND [...]\n"
    "\n"
    "  list [OP..] [--suite S] [-k PATTERN] [--uncovered]   operators and suites; the cases of a suite\n"
    "  run [OP..]                judge kernels: every case, every element, against the reference\n"
    "      --backend B           cpu, cuda, ref or plugin:./mine.so; again for more; default: cpu, and cuda where it is built\n"
    "      --require-backend B   the same, and an error when this machine cannot run it\n"
    "      --suite S             smoke (default), ci, full or a suite file\n"
    "      -k PATTERN            cases whose id holds this text, or that a pattern rmsnorm(M={1,17},fill=*) matches;\n"
    "                            * is every listed value of an axis, also the one that is written -\n"
    "      --case ID             one case, as a failing line prints it\n"
    "      --dialect D           kernels that state this dialect, judged in it (list OP names them); default: those that state "
    "none\n"
    "      --golden              the cases of golden/*.h5, judged against what the oracle computed\n"
    "      --seed N  -j N  --shard I/N  --timeout S  -x (stop at the first failure)  --lf (last failed)  --dry-run  -v\n"
    "      --resume JOURNAL      go on where a run stopped (the last run's journal is .layercheck/last.jsonl)\n"
    "      --save failed         write the inputs of failed cases to failed.h5\n"
    "      --report KIND:FILE    jsonl, junit, json or text; again for more\n"
    "  judge FILE.h5             judge outputs that any framework put beside exported inputs\n"
    "  export CASE.. -o FILE.h5  write the inputs of cases\n"
    "  golden check              the reference against golden/*.h5; golden gen -o DIR makes them\n"
    "  selftest [OP..]           the checker against kernels that are wrong on purpose\n"
    "  coverage [OP..]           what there is of every operator; what checks each clause, which mutants violate it\n"
    "  bench [OP..]              GB/s of kernels (--backend cuda)\n"
    "  determinism [OP..] [PERTURBATION..]   output bits under repeats, streams, load, graphs, bases, strides, batch sizes,\n"
    "                            positions, neighbours, occupied multiprocessors, threads (docs/determinism.md); options of run\n"
    "  relations [OP..] [RELATION..]   a kernel's results against others of its own (docs/relations.md); options of run\n"
    "  baseline save [OP..] --backend B --suite S -o FILE.json [--bits]   hashes of output codes (--bits: small ones as they "
    "are)\n"
    "  baseline compare FILE.json [--backend B]   runs its cases again: whose bits moved\n"
    "  diff A.json B.json        whose bits moved between two baselines, and by how many ulp\n"
    "  spec CLAUSE               a clause of the contract, and where ref/ implements it\n"
    "\n"
    "exit codes: 0 pass, 1 mismatch, 2 incomplete or timeout, 3 usage or environment, 4 a crash in some case, 5 nothing ran,\n"
    "            130 interrupted\n";

/* What is printed to a full disk or a closed pipe is not lost in silence. */
static int printed(int code)
{
    const bool before = ferror(stdout) != 0;
    errno = 0;
    if (!fflush(stdout) && !before)
        return code;
    return usage_error("standard output: %s", strerror(errno ? errno : EIO));
}

/* A file that gets the number of a standard stream, where that is closed, would get what is printed there. */
static void hold_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void) open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY); /* 1: every write fails, as it should */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int, char **);
    } commands[] = {
        { "list", command_list },           { "run", command_run },           { "judge", command_judge },
        { "export", command_export },       { "golden", command_golden },     { "selftest", command_selftest },
        { "spec", command_spec },           { "bench", command_bench },       { "determinism", command_determinism },
        { "relations", command_relations }, { "baseline", command_baseline }, { "diff", command_diff },
        { "coverage", command_coverage },   { "worker", worker_main },
    };
    hold_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails */
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))) {
        fputs(help, stdout);
        return printed(EXIT_PASS);
    }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("layercheck %s (%s), contract %s\n", LC_VERSION, LC_REVISION, contract_hash);
        return printed(EXIT_PASS);
    }
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name))
            return printed(commands[i].run(argc - 2, argv + 2));
    if (argc > 1)
        return usage_error("'%s': no such command; see layercheck --help", argv[1]);
    fputs(help, stderr);
    return EXIT_USAGE;
}
