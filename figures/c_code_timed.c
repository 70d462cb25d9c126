/* One million calls of an exported function of the IRB 360, each timed: cc ... -DFUNCTION=inverse_dynamics timed.c irb360.o -lm
 *
 * Pinned to one processor. Prints, for each call, its processor time and its time on the wall [us], whether the kernel took the processor
 * away meanwhile (involuntary context switches), the least time on the wall of the same call in three passes, and the time on the wall of as
 * long a loop of additions: what the machine itself adds. On stderr flags, the largest residual, and these switches in all.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "irb360.h"

#define CALLS 1000000
#define GLUED(a, b) a##b
#define NAMED(function) GLUED(irb360_, function)
#define PASSES 3
static float took[CALLS], passed[CALLS], least[CALLS], idle[CALLS];
static unsigned char away[CALLS];

static double since(const struct timespec *a, const struct timespec *b) { return 1e6 * (double)(b->tv_sec - a->tv_sec) + 1e-3 * (double)(b->tv_nsec - a->tv_nsec); }

static long switches(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_nivcsw;
}

/* Additions in a row, which touch no memory but one number. */
static void wait_long(long additions) {
  volatile double sum = 0;
  long k;
  for (k = 0; k < additions; ++k) sum += 1;
}

static double waited(long additions) {
  struct timespec wall[2];
  clock_gettime(CLOCK_MONOTONIC, &wall[0]);
  wait_long(additions);
  clock_gettime(CLOCK_MONOTONIC, &wall[1]);
  return since(&wall[0], &wall[1]);
}

int main(int argc, char **argv) {
  irb360_state state;
  double home[IRB360_COORDINATES], c[IRB360_COORDINATES], cd[IRB360_COORDINATES], cdd[IRB360_COORDINATES], out[12], residual, worst = 0, typical = 0;
  cpu_set_t one;
  long before, first, additions;
  int i, k, pass, bad = 0;
  if (argc != 1 + IRB360_COORDINATES) return 2;
  for (k = 0; k < IRB360_COORDINATES; ++k) sscanf(argv[1 + k], "%lf", home + k);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one)) return 3;
  mlockall(MCL_CURRENT | MCL_FUTURE); /* where it may: pages that come late are not the function's time */
  for (i = 0; i < CALLS; ++i) took[i] = passed[i] = least[i] = idle[i] = away[i] = 1; /* all pages are there */
  before = first = switches();
  for (pass = 0; pass < PASSES; ++pass) {
    irb360_home(&state);
    for (i = 0; i < CALLS; ++i) {
      struct timespec used[2], wall[2];
      const double t = 0.001 * i, w = 6.28;
      long now;
      for (k = 0; k < IRB360_COORDINATES; ++k) {
        const double far = 0.1 * (1 + 0.1 * k);
        c[k] = home[k] + far * (1 - cos(w * t)), cd[k] = far * w * sin(w * t), cdd[k] = far * w * w * cos(w * t);
      }
      clock_gettime(CLOCK_MONOTONIC, &wall[0]);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[0]);
      bad += NAMED(FUNCTION)(&state, c, cd, cdd, out, &residual) != 0;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used[1]);
      clock_gettime(CLOCK_MONOTONIC, &wall[1]);
      now = switches();
      if (pass == 0) took[i] = (float)since(&used[0], &used[1]), passed[i] = least[i] = (float)since(&wall[0], &wall[1]), away[i] = now != before;
      else if (since(&wall[0], &wall[1]) < (double)least[i]) least[i] = (float)since(&wall[0], &wall[1]);
      before = now;
      if (residual > worst) worst = residual;
    }
    if (pass == 0) first = before - first;
  }
  for (i = 0; i < 1000; ++i) typical += (double)least[i] / 1000;
  for (additions = 100; waited(additions) < typical; additions += 20) continue;
  for (i = 0; i < CALLS; ++i) idle[i] = (float)waited(additions);
  for (i = 0; i < CALLS; ++i) printf("%.3f %.3f %d %.3f %.3f\n", took[i], passed[i], away[i], least[i], idle[i]);
  fprintf(stderr, "%d %.3g %ld", bad, worst, first);
  return 0;
}
