/* See stop.h. The flags are the only variables of the program that are not somebody's: a handler has no argument. */
#include "stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile int stop, save, asked, last;
static pthread_t main_thread;

/* Threads of a library may have been started before main and take a signal: it is sent on, so that flags have one writer. */
static bool is_sent_on(int number)
{
    int kept = errno;
    bool elsewhere = !pthread_equal(pthread_self(), main_thread);
    if (elsewhere)
        pthread_kill(main_thread, number);
    errno = kept;
    return elsewhere;
}

/* After the second one the next kills: whatever does not look at the flag must still be stoppable. */
static void on_stop(int number)
{
    int kept = errno;
    if (is_sent_on(number))
        return;
    last = number;
    stop = stop ? 2 : 1;
    if (stop == 2)
        signal(number, SIG_DFL);
    errno = kept;
}

/* Comes again every second beyond the limit, which must not count as impatience. */
static void on_limit(int number)
{
    if (!is_sent_on(number) && !stop)
        stop = 1;
}

static void on_save(int number)
{
    if (!is_sent_on(number))
        save = asked = 1;
}

static void install(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void stop_install(void)
{
    struct sigaction hangup;
    main_thread = pthread_self();
    install(SIGINT, on_stop);
    install(SIGTERM, on_stop);
    install(SIGXCPU, on_limit);
    install(SIGUSR1, on_save);
    /* nohup's wish: to outlive the terminal */
    if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
        install(SIGHUP, on_stop);
}

const volatile int *stop_flag(void)
{
    return &stop;
}

volatile int *stop_save_flag(void)
{
    return &save;
}

bool stop_save_asked(void)
{
    bool was = asked;
    asked = 0;
    return was;
}

int stop_exit_code(void)
{
    return 128 + (last == SIGINT ? SIGINT : SIGTERM);
}
