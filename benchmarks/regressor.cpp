// The tree's joint torque regressor by C++ Pinocchio: regressor MODEL STATES N REPEATS
// MODEL is what Python's saveToBinary wrote; STATES holds N rows of q, v, a as doubles. Prints the best processor time of a sample [us] and the sum of all entries.
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <vector>

#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>

static double seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int, char **argv) {
  pinocchio::Model model;
  model.loadFromBinary(argv[1]);
  pinocchio::Data data(model);
  const int n = std::stoi(argv[3]), repeats = std::stoi(argv[4]), nv = model.nv;
  std::vector<double> rows(3 * n * nv);
  std::ifstream(argv[2], std::ios::binary).read(reinterpret_cast<char *>(rows.data()), rows.size() * sizeof(double));
  double best = std::numeric_limits<double>::max(), sum = 0;
  for (int r = 0; r < repeats; ++r) {
    sum = 0;
    const double begin = seconds();
    for (int i = 0; i < n; ++i) {
      const Eigen::Map<const Eigen::VectorXd> q(&rows[3 * i * nv], nv), v(&rows[(3 * i + 1) * nv], nv), a(&rows[(3 * i + 2) * nv], nv);
      sum += pinocchio::computeJointTorqueRegressor(model, data, q, v, a)(0, 0);
    }
    best = std::min(best, seconds() - begin);
  }
  // What is compared is asked for outside of the time: the sum of all entries of all samples.
  sum = 0;
  for (int i = 0; i < n; ++i) {
    const Eigen::Map<const Eigen::VectorXd> q(&rows[3 * i * nv], nv), v(&rows[(3 * i + 1) * nv], nv), a(&rows[(3 * i + 2) * nv], nv);
    sum += pinocchio::computeJointTorqueRegressor(model, data, q, v, a).cwiseAbs().sum();
  }
  std::cout.precision(17);
  std::cout << 1e6 * best / n << " " << sum << std::endl;
}
