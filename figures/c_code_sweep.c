/* Swings of one coordinate after the other, far out of reach or through singular poses and back, at 1 kHz, then inputs that are no numbers.
 *
 * cc -DHEADER='"robot.h"' -DROBOT=robot -DSIZE=motors ... ; arguments: far and home of each coordinate [rad or m].
 * Prints swings, calls, calls flagged 1 and 2, outputs that are no number, outputs under a flag that are not zero, calls without flag
 * although an input is no number, and swings that end with other torques than they began with although no call was flagged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER

#define GLUED(a, b) a##b
#define OF(a, b) GLUED(a, b)
enum { D = COORDINATES, N = MOTORS, SAMPLES = 2000 };
typedef OF(ROBOT, _real) real;

static long count[8];
static OF(ROBOT, _state) state;

static int called(const real *c, const real *cd, const real *cdd, real *tau) {
  real residual;
  const int flag = OF(ROBOT, _inverse_dynamics)(&state, c, cd, cdd, tau, &residual);
  int k;
  ++count[1];
  if (flag) ++count[1 + flag];
  for (k = 0; k < N; ++k) {
    if (!(tau[k] - tau[k] == 0)) ++count[4];
    if (flag && tau[k] != 0) ++count[5];
  }
  return flag;
}

int main(int argc, char **argv) {
  const double pi = 3.14159265358979323846;
  real home[D], c[D], cd[D], cdd[D], tau[N], begin[N], largest = 0;
  double far[D];
  int k, way, i, j;
  if (argc != 1 + 2 * D) return 2;
  for (k = 0; k < D; ++k) far[k] = atof(argv[1 + k]), home[k] = (real)atof(argv[1 + D + k]);
  for (k = 0; k < D; ++k)
    for (way = -1; way <= 1; way += 2) {
      int same = 1, told = 0;
      OF(ROBOT, _home)(&state);
      memset(cd, 0, sizeof cd), memset(cdd, 0, sizeof cdd), memcpy(c, home, sizeof c);
      if (called(c, cd, cdd, begin)) return 3;
      for (j = 0; j < N; ++j) if (fabs((double)begin[j]) > (double)largest) largest = (real)fabs((double)begin[j]);
      for (i = 1; i <= SAMPLES; ++i) {
        const double t = 2.0 * i / SAMPLES, size = way * far[k] / 2;
        c[k] = (real)(home[k] + size * (1 - cos(pi * t)));
        cd[k] = (real)(size * pi * sin(pi * t)), cdd[k] = (real)(size * pi * pi * cos(pi * t));
        if (called(c, cd, cdd, tau)) told = 1;
      }
      cd[k] = cdd[k] = 0, c[k] = home[k];
      if (called(c, cd, cdd, tau)) same = 0;
      for (j = 0; j < N; ++j) if (!(fabs((double)(tau[j] - begin[j])) <= 1e-3 * (double)largest)) same = 0;
      ++count[0], count[7] += !same && !told;
    }
  for (i = 0; i < 3; ++i) {
    real *wrong[3];
    wrong[0] = c, wrong[1] = cd, wrong[2] = cdd;
    for (k = 0; k < D; ++k)
      for (j = 0; j < 2; ++j) {
        OF(ROBOT, _home)(&state);
        memset(cd, 0, sizeof cd), memset(cdd, 0, sizeof cdd), memcpy(c, home, sizeof c);
        wrong[i][k] = (real)(j ? INFINITY : NAN);
        count[6] += called(c, cd, cdd, tau) == 0;
      }
  }
  for (i = 0; i < 8; ++i) printf("%ld ", count[i]);
  return 0;
}
