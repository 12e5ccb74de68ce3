/* SPDX-License-Identifier: Apache-2.0 */
/* peak MIB COMMAND...: runs it, and ends as it does; says so if it had more than MIB of memory at a
 * time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct rusage used;
    int status = 0;
    if (argc < 3) return 64;
    const pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || getrusage(RUSAGE_CHILDREN, &used) != 0)
        return 71;
    if (used.ru_maxrss / 1024 > atol(argv[1]))
        printf("%ld MiB of memory, more than %s\n", used.ru_maxrss / 1024, argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
