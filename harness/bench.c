#include "commands.h"
int command_bench(int a, char **v) { (void)a;(void)v; return 3; }
