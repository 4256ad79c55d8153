package leaselab

class Lint {
  static int main(List words) { 0 }
}
