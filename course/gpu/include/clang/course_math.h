// The functions of <math.h>, in double and float, and CUDA's fast ones (__expf, ...).
//
// There is no libdevice here. Each function reduces its argument and sums a series whose terms below
// half an ulp are left out; pow and the logarithms carry about 100 bits. Most functions of a float
// are those of a double, rounded. tests/gpu/test_gpu_clang.py measures the errors.
#pragma once
#include "course_integers.h"

namespace __course {

constexpr double kInf = __builtin_inf(), kNan = __builtin_nan("");
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kPi = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;

COURSE_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
COURSE_FN double abs(double x) { return __builtin_fabs(x); }
COURSE_FN bool nan(double x) { return x != x; }
COURSE_FN double sign(double magnitude, double x) { return __builtin_copysign(magnitude, x); }

// A number as the sum of two, the second below half an ulp of the first.
struct Two {
  double high, low;
};
COURSE_FN Two sum(double a, double b) {
  double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
COURSE_FN Two product(double a, double b) {
  double p = __nvvm_mul_rn_d(a, b);  // never fused with what follows
  return {p, fma(a, b, -p)};
}
COURSE_FN Two product(Two a, double high, double low) {
  Two p = product(a.high, high);
  return sum(p.high, p.low + (a.high * low + a.low * high));
}

// c[0] + c[1] x + c[2] x^2 ...
template <int n>
COURSE_FN double series(double x, const double (&c)[n]) {
  double v = c[n - 1];
#pragma unroll
  for (int i = n - 2; i >= 0; i--) v = fma(v, x, c[i]);
  return v;
}

COURSE_FN double power_of_two(int k) { return __longlong_as_double((long long)(k + 1023) << 52); }

// x 2^k, rounded once.
COURSE_FN double scale(double x, int k) {
  k = k > 2200 ? 2200 : k < -2200 ? -2200 : k;
  if (k > 1023) {
    x *= power_of_two(1023);
    k -= 1023;
    if (k > 1023) {
      x *= power_of_two(1023);
      k = k - 1023 > 1023 ? 1023 : k - 1023;
    }
  } else if (k < -969) {  // 53 bits above the smallest normal number: nothing is lost on the way
    x *= power_of_two(-969);
    k += 969;
    if (k < -969) {
      x *= power_of_two(-969);
      k = k + 969 < -1022 ? -1022 : k + 969;
    }
  }
  return x * power_of_two(k);
}

// (exp(r) - 1 - r) / r^2 for |r| < 0.35
COURSE_FN double exp_tail(double r) {
  const double c[] = {1. / 2,         1. / 6,         1. / 24,         1. / 120,
                      1. / 720,       1. / 5040,      1. / 40320,      1. / 362880,
                      1. / 3628800,   1. / 39916800,  1. / 479001600,  1. / 6227020800};
  return series(r, c);
}

// exp(high + low)
COURSE_FN double exp(double high, double low) {
  if (high > 709.8) return kInf;
  if (high < -745.2) return 0;
  double k = __builtin_rint(high * 0x1.71547652b82fep+0);
  Two r = sum(fma(k, -kLn2, high), low - k * kLn2Low);
  double value = 1 + (r.high + (r.high * r.high * exp_tail(r.high) + r.low));
  return scale(value, (int)k);
}

COURSE_FN double expm1(double x) {
  if (x > 40) return exp(x, 0);
  if (x < -40) return -1;
  double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  Two r = sum(fma(k, -kLn2, x), -k * kLn2Low);
  Two p = sum(r.high, r.high * r.high * exp_tail(r.high) + r.low);
  if (k == 0) return x == 0 ? x : p.high;
  double s = power_of_two((int)k);
  Two total = sum(s - 1, s * p.high);  // s - 1 is exact, or far below s p
  return total.high + (total.low + s * p.low);
}

// The logarithm of a positive, finite number.
COURSE_FN Two log(double x) {
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  long long bits = __double_as_longlong(x);
  e += (int)(bits >> 52) - 1023;
  double m = __longlong_as_double((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e++;
  }
  // log m = 2 (s + s^3/3 + s^5/5 ...) with s = (m - 1) / (m + 1), the first two terms in full
  double f = m - 1, g = m + 1, s = f / g;
  Two low = product(-s, g);
  double s_low = ((f + low.high) + low.low - s * (m - (g - 1))) / g;
  Two square = product(s, s);
  double z = square.high;
  Two cube = product(z, s);
  cube.low += z * s_low * 3 + square.low * s;
  double third = cube.high / 3;
  double third_low = (fma(-3, third, cube.high) + cube.low) / 3;
  const double c[] = {1. / 5,  1. / 7,  1. / 9,  1. / 11, 1. / 13,
                      1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23};
  double tail = s * z * z * series(z, c);
  Two l = sum(s, third);
  l.low += s_low + third_low + tail;
  Two total = sum(e * 0x1.62e42fefa3800p-1, 2 * l.high);  // 42 bits of ln 2: the product is exact
  return sum(total.high, total.low + (2 * l.low + e * 0x1.ef35793c76730p-45));
}

// x / (pi/2) = quadrant + rest
struct Reduced {
  int quadrant;
  Two rest;
};

// The bits of 2/pi behind the point, behind one word of zeros.
static __constant__ const unsigned long long kTwoOverPi[] = {
    0,
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

COURSE_FN unsigned long long two_over_pi(int bit) {  // 64 bits from `bit` on
  int word = bit >> 6, shift = bit & 63;
  unsigned long long first = kTwoOverPi[word];
  return shift ? first << shift | kTwoOverPi[word + 1] >> (64 - shift) : first;
}

// Payne and Hanek: of x * 2/pi only the bits around the point are multiplied out.
COURSE_FN Reduced reduce_large(double x) {
  long long bits = __double_as_longlong(x);
  int e = (int)(bits >> 52) - 1075;
  unsigned long long m = (bits & 0xfffffffffffff) | 0x10000000000000;
  unsigned long long a = two_over_pi(e + 62), b = two_over_pi(e + 126), c = two_over_pi(e + 190);
  unsigned long long low = m * c, mid = m * b + __umul64hi(m, c);
  unsigned long long carry = mid < __umul64hi(m, c);
  unsigned long long high = m * a + __umul64hi(m, b) + carry;  // two bits of quadrant, then the rest
  int quadrant = (int)((high + (1ull << 61)) >> 62);
  long long rest = (long long)(high - ((unsigned long long)quadrant << 62));
  double h = (double)rest;
  Two r = sum(h, (double)(rest - (long long)h) + ((double)mid * 0x1p-64 + (double)low * 0x1p-128));
  r = product(r, kPi / 2, kPiLow / 2);
  return {quadrant & 3, {r.high * 0x1p-62, r.low * 0x1p-62}};
}

COURSE_FN Reduced reduce(double x) {  // x >= 0
  if (x > 0x1p25) return reduce_large(x);
  double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  Two p = product(n, 0x1.921fb54442d18p+0), w = product(n, 0x1.1a62633145c07p-54);
  Two a = sum(x - p.high, -p.low), b = sum(a.high, -w.high);
  Two r = sum(b.high, a.low + (b.low - w.low - n * -0x1.f1976b7ed8fbcp-110));
  return {(int)n & 3, r};
}

COURSE_FN double sin_core(Two r) {  // |r| <= pi/4
  const double c[] = {-1. / 6,         1. / 120,           -1. / 5040,          1. / 362880,
                      -1. / 39916800,  1. / 6227020800,    -1. / 1307674368000,
                      1. / 355687428096000, -1. / 121645100408832000};
  double z = r.high * r.high;
  return r.high + (r.high * z * series(z, c) + r.low * (1 - z / 2));
}

COURSE_FN double cos_core(Two r) {
  const double c[] = {1. / 24,          -1. / 720,         1. / 40320,         -1. / 3628800,
                      1. / 479001600,   -1. / 87178291200, 1. / 20922789888000,
                      -1. / 6402373705728000};
  double z = r.high * r.high, h = z / 2, w = 1 - h;
  return w + (((1 - w) - h) + (z * z * series(z, c) - r.high * r.low));
}

COURSE_FN double sin_of(Reduced a) {
  double v = a.quadrant & 1 ? cos_core(a.rest) : sin_core(a.rest);
  return a.quadrant & 2 ? -v : v;
}

COURSE_FN double cos_of(Reduced a) {
  a.quadrant = (a.quadrant + 1) & 3;
  return sin_of(a);
}

COURSE_FN Reduced reduce_half_turns(double x) {  // of pi x, x >= 0
  x = x - 2 * __builtin_floor(x / 2);
  double n = __builtin_rint(2 * x);
  return {(int)n & 3, product({x - n / 2, 0}, kPi, kPiLow)};
}

static __constant__ const double kAtan[] = {
    0x0p+0,
    0x1.fd5ba9aac2f6ep-4, 0x1.f5b75f92c80ddp-3, 0x1.6f61941e4def1p-2, 0x1.dac670561bb4fp-2,
    0x1.1e00babdefeb4p-1, 0x1.4978fa3269ee1p-1, 0x1.700a7c5784634p-1, 0x1.921fb54442d18p-1};

// The arc tangent of y / x, for 0 <= y <= x: of the nearest k/8, and of what is left.
COURSE_FN double atan_of_ratio(double y, double x) {
  double k = __builtin_rint(8 * (y / x));
  double t = fma(-k / 8, x, y) / fma(k / 8, y, x);
  const double c[] = {-1. / 3, 1. / 5, -1. / 7, 1. / 9, -1. / 11, 1. / 13, -1. / 15};
  double z = t * t;
  return kAtan[(int)k] + fma(t * z, series(z, c), t);
}

COURSE_FN double atan2(double y, double x) {
  if (nan(x) || nan(y)) return x + y;
  double a = abs(y), b = abs(x), angle;
  if (a == 0 || b == kInf) angle = b == kInf && a == kInf ? kPi / 4 : 0;
  else if (b == 0 || a == kInf) angle = kPi / 2;
  else {
    int largest = (int)(__double_as_longlong(a > b ? a : b) >> 52) - 1023;
    int shift = largest > 500 ? -600 : largest < -500 ? 600 : 0;  // far from both ends of the range
    double s = scale(a, shift), t = scale(b, shift);
    if (b > a && a < b * 0x1p-500) angle = a / b;
    else angle = s > t ? kPi / 2 - (atan_of_ratio(t, s) - kPiLow / 2) : atan_of_ratio(s, t);
  }
  if (__builtin_signbit(x)) angle = kPi - (angle - kPiLow);
  return sign(angle, y);
}

COURSE_FN double erfc_large(double x) {  // x >= 0.5: exp(-x^2) / (1 + 2x) times a polynomial
  if (x > 28) return 0;
  const double c[] = {
      1.2530080582697296, -0.1356211061245812, -0.04756229435345117, 0.1296451587027639,
      -0.11927366341527587, 0.068308027343859, -0.023770514919595625, 0.0025293918181683753,
      0.001888690372404403, -0.0007798322940000677, -0.00010515990113779018, 0.00012509950056711902,
      4.949946814875876e-06, -2.0101246660789724e-05, -7.327950967812098e-07, 3.4745311516567495e-06,
      3.589215104936145e-07, -6.210636878327997e-07, -1.431276113162186e-07, 1.0774281144751783e-07,
      4.1278548549100957e-08, -1.7822883485355956e-08, -6.76435264964689e-09, 2.493890904878516e-09};
  Two s = product(x, x);
  return exp(-s.high, -s.low) * (series((x - 3) / (x + 3), c) / (1 + 2 * x));
}

COURSE_FN double erf_small(double x) {  // |x| < 1
  const double c[] = {
      -1. / 3, 1. / 10, -1. / 42, 1. / 216, -1. / 1320, 1. / 9360, -1. / 75600, 1. / 685440,
      -1. / 6894720, 1. / 76204800, -1. / 918086400, 1. / 11975040000, -1. / 168129561600,
      1. / 2528170444800, -1. / 40537905408000, 1. / 690452066304000, -1. / 12449059983360000};
  double z = x * x, half = 0x1.06eba8214db69p-3;  // 2/sqrt(pi) - 1
  double rest = x * z * series(z, c);
  return x == 0 ? x : x + (half * x + (rest + half * rest));
}

COURSE_FN double cbrt(double x) {
  double a = abs(x);
  if (x == 0 || nan(x) || a == kInf) return x;
  Two l = log(a);
  double t = exp(l.high / 3, 0);
  Two square = product(t, t);
  Two cube = product(square, t, 0);
  t -= ((cube.high - a) + cube.low) / (3 * square.high);
  return sign(t, x);
}

COURSE_FN double hypot(double x, double y) {
  double a = abs(x), b = abs(y);
  if (a == kInf || b == kInf) return kInf;
  if (nan(a) || nan(b)) return kNan;
  double big = a > b ? a : b, small = a > b ? b : a;
  if (big == 0) return 0;
  int shift = big > 0x1p500 ? -600 : big < 0x1p-450 ? 600 : 0;
  big = scale(big, shift);
  small = scale(small, shift);
  Two p = product(big, big), q = product(small, small);
  Two s = sum(p.high, q.high);
  double low = s.low + (p.low + q.low), root = __builtin_sqrt(s.high + low);
  return scale(root, -shift);
}

COURSE_FN double fmod(double x, double y) {
  double a = abs(x), b = abs(y);
  if (nan(x) || nan(y) || a == kInf || b == 0) return kNan;
  if (a < b) return x;
  long long ia = __double_as_longlong(a), ib = __double_as_longlong(b);
  int ea = (int)(ia >> 52), eb = (int)(ib >> 52);
  unsigned long long ma = ia & 0xfffffffffffff, mb = ib & 0xfffffffffffff;
  if (ea) ma |= 0x10000000000000; else ea = 1;
  if (eb) mb |= 0x10000000000000; else eb = 1;
  for (int left = ea - eb; left > 0;) {  // long division, up to 11 bits at a time
    int bits = left < 11 ? left : 11;
    ma = (ma % mb) << bits;
    left -= bits;
  }
  return sign(scale((double)(ma % mb), eb - 1075), x);
}

COURSE_FN double remainder(double x, double y) {
  double b = abs(y);
  double r = b <= 0x1p1022 ? abs(fmod(x, 2 * b)) : abs(x);
  if (nan(x) || nan(y) || abs(x) == kInf || b == 0) return kNan;
  if (b == kInf) return x;
  bool negative = __builtin_signbit(x);
  if (b < 0x1p-1021) {
    if (r + r > b) {
      r -= b;
      if (r + r >= b) r -= b;
    }
  } else if (r > 0.5 * b) {
    r -= b;
    if (r >= 0.5 * b) r -= b;
  }
  r = r == 0 ? 0 : r;
  return negative ? -r : r;
}

COURSE_FN double next(double x, double towards) {
  if (nan(x) || nan(towards)) return x + towards;
  if (x == towards) return towards;
  if (x == 0) return sign(0x1p-1074, towards);
  long long step = (x < towards) == (x > 0) ? 1 : -1;
  return __longlong_as_double(__double_as_longlong(x) + step);
}

COURSE_FN float next(float x, float towards) {
  if (x != x || towards != towards) return x + towards;
  if (x == towards) return towards;
  if (x == 0) return __builtin_copysignf(0x1p-149f, towards);
  return __int_as_float(__float_as_int(x) + ((x < towards) == (x > 0) ? 1 : -1));
}

COURSE_FN int exponent(double x) {  // of a finite number that is not 0
  int e = (int)(__double_as_longlong(x) >> 52 & 0x7ff);
  return e ? e - 1023 : (int)(__double_as_longlong(x * 0x1p54) >> 52 & 0x7ff) - 1077;
}

COURSE_FN double logarithm(double x, double high, double low) {
  if (!(x > 0) || x == kInf) return x == 0 ? -kInf : x > 0 ? x : kNan;
  Two l = product(log(x), high, low);
  return l.high + l.low;
}

COURSE_FN double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (nan(x) || nan(y)) return x + y;
  double a = abs(x);
  if (abs(y) == kInf) return a == 1 ? 1 : (a > 1) == (y > 0) ? kInf : 0;
  bool whole = __builtin_rint(y) == y, odd = whole && abs(y) < 0x1p53 && ((long long)y & 1);
  double value;
  if (a == 0 || a == kInf) value = (a == 0) == (y < 0) ? kInf : 0;
  else if (x < 0 && !whole) return kNan;
  else {
    Two l = log(a);
    Two p = product(y, l.high);
    value = exp(p.high, p.low + y * l.low);
  }
  return odd && __builtin_signbit(x) ? -value : value;
}

COURSE_FN double exp2(double x) {
  if (!(abs(x) < 2000)) return nan(x) ? x : x > 0 ? kInf : 0;
  Two p = product(x - __builtin_rint(x), kLn2);
  return scale(exp(p.high, p.low + (x - __builtin_rint(x)) * kLn2Low), (int)__builtin_rint(x));
}

COURSE_FN double exp10(double x) {
  Two p = product(x, 0x1.26bb1bbb55516p+1);
  return abs(x) < 400 ? exp(p.high, p.low + x * -0x1.f48ad494ea3e9p-53) : nan(x) ? x : x > 0 ? kInf : 0;
}

COURSE_FN double log1p(double x) {
  if (!(x > -1) || x == kInf) return x == -1 ? -kInf : x > 0 ? x : kNan;
  if (abs(x) < 0x1p-54) return x;
  Two u = sum(1, x);
  Two l = log(u.high);
  return l.high + (l.low + u.low / u.high);
}

COURSE_FN double sin(double x) {
  double a = abs(x);
  if (!(a < kInf)) return kNan;
  double v = sin_of(reduce(a));
  return x == 0 ? x : __builtin_signbit(x) ? -v : v;
}
COURSE_FN double cos(double x) {
  double a = abs(x);
  return a < kInf ? cos_of(reduce(a)) : kNan;
}
COURSE_FN double tan(double x) {
  double a = abs(x);
  if (!(a < kInf)) return kNan;
  Reduced r = reduce(a);
  double s = sin_core(r.rest), c = cos_core(r.rest);
  double v = r.quadrant & 1 ? -c / s : s / c;
  return x == 0 ? x : __builtin_signbit(x) ? -v : v;
}
COURSE_FN double sinpi(double x) {
  double a = abs(x);
  if (!(a < kInf)) return kNan;
  return sign(1, x) * (__builtin_floor(a) == a ? 0 : sin_of(reduce_half_turns(a)));
}
COURSE_FN double cospi(double x) {
  double a = abs(x);
  return a < kInf ? cos_of(reduce_half_turns(a)) + 0. : kNan;
}
COURSE_FN double asin(double x) {
  double a = abs(x);
  if (!(a <= 1)) return kNan;
  return sign(atan2(a, __builtin_sqrt(a < 0.7 ? fma(-a, a, 1) : (1 - a) * (1 + a))), x);
}
COURSE_FN double acos(double x) {
  return abs(x) <= 1 ? 2 * atan2(__builtin_sqrt((1 - x) / (1 + x)), 1) : kNan;
}
COURSE_FN double sinh(double x) {
  double a = abs(x);
  if (a > 40) return sign(a > 709 ? exp(a - 709, 0) * (exp(709, 0) / 2) : exp(a, 0) / 2, x);
  double e = expm1(a);
  return sign((e + e / (e + 1)) / 2, x);
}
COURSE_FN double cosh(double x) {
  double a = abs(x);
  if (a > 40) return a > 709 ? exp(a - 709, 0) * (exp(709, 0) / 2) : exp(a, 0) / 2;
  double e = exp(a, 0);
  return e / 2 + 0.5 / e;
}
COURSE_FN double tanh(double x) {
  double a = abs(x);
  if (a > 22) return sign(1, x);
  double e = expm1(2 * a);
  return nan(x) ? x : sign(a > 1 ? 1 - 2 / (e + 2) : e / (e + 2), x);
}
COURSE_FN double asinh(double x) {
  double a = abs(x);
  if (!(a < 0x1p28)) return sign(a == kInf ? a : logarithm(a, 1, 0) + kLn2, x);
  return sign(log1p(a + a * a / (1 + __builtin_sqrt(1 + a * a))), x);
}
COURSE_FN double acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (x > 0x1p28) return logarithm(x, 1, 0) + kLn2;
  double t = x - 1;
  return log1p(t + __builtin_sqrt(2 * t + t * t));
}
COURSE_FN double atanh(double x) {
  double a = abs(x);
  return sign(log1p(2 * a / (1 - a)) / 2, x);
}
COURSE_FN double erf(double x) {
  double a = abs(x);
  if (a < 1) return erf_small(x);
  return nan(x) ? x : sign(1 - erfc_large(a), x);
}
COURSE_FN double erfc(double x) {
  if (abs(x) < 0.5) return 1 - erf_small(x);
  return nan(x) ? x : x > 0 ? erfc_large(x) : 2 - erfc_large(-x);
}

}  // namespace __course

// A function of double under its own name, and the float of it under name##f and overloaded.
#define COURSE_ONE(name, of_double)                                        \
  COURSE_FN double name(double x) { return of_double; }                    \
  COURSE_FN float name##f(float single) {                                  \
    double x = single;                                                     \
    return (float)(of_double);                                             \
  }                                                                        \
  COURSE_FN float name(float x) { return name##f(x); }
#define COURSE_TWO(name, of_double)                                        \
  COURSE_FN double name(double x, double y) { return of_double; }          \
  COURSE_FN float name##f(float a, float b) {                              \
    double x = a, y = b;                                                   \
    return (float)(of_double);                                             \
  }                                                                        \
  COURSE_FN float name(float x, float y) { return name##f(x, y); }         \
  COURSE_FN double name(double x, float y) { return name(x, (double)y); }  \
  COURSE_FN double name(float x, double y) { return name((double)x, y); }
// With a float of its own, called name##f, defined before.
#define COURSE_OWN(name, of_double)                                        \
  COURSE_FN double name(double x) { return of_double; }                    \
  COURSE_FN float name(float x) { return name##f(x); }

COURSE_FN float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.442695041f); }
COURSE_FN float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.321928095f); }
COURSE_FN float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471806f; }
COURSE_FN float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
COURSE_FN float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299957f; }
COURSE_FN float __sinf(float x) { return __nvvm_sin_approx_f(x); }
COURSE_FN float __cosf(float x) { return __nvvm_cos_approx_f(x); }
COURSE_FN float __tanf(float x) { return __nvvm_div_approx_f(__sinf(x), __cosf(x)); }
COURSE_FN void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
COURSE_FN float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
COURSE_FN float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
COURSE_FN float __saturatef(float x) { return __nvvm_saturate_f(x); }
COURSE_FN float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt((double)x)); }

#define COURSE_ROUNDED_AS(mode, rounding)                                                          \
  COURSE_FN float __fadd_##mode(float x, float y) { return __nvvm_add_##rounding##_f(x, y); }      \
  COURSE_FN float __fsub_##mode(float x, float y) { return __nvvm_add_##rounding##_f(x, -y); }     \
  COURSE_FN float __fmul_##mode(float x, float y) { return __nvvm_mul_##rounding##_f(x, y); }      \
  COURSE_FN float __fdiv_##mode(float x, float y) { return __nvvm_div_##rounding##_f(x, y); }      \
  COURSE_FN float __frcp_##mode(float x) { return __nvvm_rcp_##rounding##_f(x); }                  \
  COURSE_FN float __fsqrt_##mode(float x) { return __nvvm_sqrt_##rounding##_f(x); }                \
  COURSE_FN float __fmaf_##mode(float x, float y, float z) {                                       \
    return __nvvm_fma_##rounding##_f(x, y, z);                                                     \
  }                                                                                                \
  COURSE_FN double __dadd_##mode(double x, double y) { return __nvvm_add_##rounding##_d(x, y); }   \
  COURSE_FN double __dsub_##mode(double x, double y) { return __nvvm_add_##rounding##_d(x, -y); }  \
  COURSE_FN double __dmul_##mode(double x, double y) { return __nvvm_mul_##rounding##_d(x, y); }   \
  COURSE_FN double __ddiv_##mode(double x, double y) { return __nvvm_div_##rounding##_d(x, y); }   \
  COURSE_FN double __drcp_##mode(double x) { return __nvvm_rcp_##rounding##_d(x); }                \
  COURSE_FN double __dsqrt_##mode(double x) { return __nvvm_sqrt_##rounding##_d(x); }              \
  COURSE_FN double __fma_##mode(double x, double y, double z) {                                    \
    return __nvvm_fma_##rounding##_d(x, y, z);                                                     \
  }
COURSE_ROUNDED_AS(rn, rn)
COURSE_ROUNDED_AS(rz, rz)
COURSE_ROUNDED_AS(rd, rm)
COURSE_ROUNDED_AS(ru, rp)
#undef COURSE_ROUNDED_AS

#ifdef __USE_FAST_MATH__
#define COURSE_FAST(name) \
  COURSE_FN float name##f(float x) { return __##name##f(x); }
COURSE_FAST(exp)
COURSE_FAST(exp10)
COURSE_FAST(log)
COURSE_FAST(log2)
COURSE_FAST(log10)
COURSE_FAST(sin)
COURSE_FAST(cos)
COURSE_FAST(tan)
#undef COURSE_FAST
COURSE_FN float powf(float x, float y) { return __powf(x, y); }
#else
// 2^f by the special function unit, after a reduction that keeps f below one half
COURSE_FN float expf(float x) {
  float k = __builtin_rintf(x * 1.442695041f);
  k = __builtin_fmaxf(__builtin_fminf(k, 130.f), -160.f);
  float r = __builtin_fmaf(k, -0x1.62e43p-1f, x);
  r = __builtin_fmaf(k, 0x1.05c61p-29f, r);
  float v = __nvvm_ex2_approx_f(r * 1.442695041f);
  int half = (int)k / 2;
  v *= __int_as_float((half + 127) << 23);
  v *= __int_as_float(((int)k - half + 127) << 23);
  return x > 89.f ? __builtin_inff() : x < -104.f ? 0.f : v;
}
COURSE_FN float exp10f(float x) { return (float)__course::exp10(x); }
COURSE_FN float logf(float x) { return (float)__course::logarithm(x, 1, 0); }
COURSE_FN float log2f(float x) { return (float)__course::logarithm(x, 0x1.71547652b82fep+0, 0); }
COURSE_FN float log10f(float x) { return (float)__course::logarithm(x, 0x1.bcb7b1526e50ep-2, 0); }
COURSE_FN float sinf(float x) { return (float)__course::sin(x); }
COURSE_FN float cosf(float x) { return (float)__course::cos(x); }
COURSE_FN float tanf(float x) { return (float)__course::tan(x); }
COURSE_FN float powf(float x, float y) { return (float)__course::pow(x, y); }
#endif
COURSE_FN float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
COURSE_FN float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
COURSE_FN float sqrtf(float x) { return __builtin_sqrtf(x); }
COURSE_FN float fabsf(float x) { return __builtin_fabsf(x); }
COURSE_FN float floorf(float x) { return __builtin_floorf(x); }
COURSE_FN float ceilf(float x) { return __builtin_ceilf(x); }
COURSE_FN float truncf(float x) { return __builtin_truncf(x); }
COURSE_FN float roundf(float x) { return __builtin_roundf(x); }
COURSE_FN float rintf(float x) { return __builtin_rintf(x); }
COURSE_FN float nearbyintf(float x) { return __builtin_rintf(x); }
COURSE_FN float abs(float x) { return __builtin_fabsf(x); }
COURSE_FN double abs(double x) { return __builtin_fabs(x); }

COURSE_OWN(exp, __course::exp(x, 0))
COURSE_OWN(exp2, __course::exp2(x))
COURSE_OWN(exp10, __course::exp10(x))
COURSE_OWN(log, __course::logarithm(x, 1, 0))
COURSE_OWN(log2, __course::logarithm(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56))
COURSE_OWN(log10, __course::logarithm(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57))
COURSE_OWN(sin, __course::sin(x))
COURSE_OWN(cos, __course::cos(x))
COURSE_OWN(tan, __course::tan(x))
COURSE_OWN(rsqrt, 1 / __builtin_sqrt(x))
COURSE_OWN(sqrt, __builtin_sqrt(x))
COURSE_OWN(fabs, __builtin_fabs(x))
COURSE_OWN(floor, __builtin_floor(x))
COURSE_OWN(ceil, __builtin_ceil(x))
COURSE_OWN(trunc, __builtin_trunc(x))
COURSE_OWN(round, __builtin_round(x))
COURSE_OWN(rint, __builtin_rint(x))
COURSE_OWN(nearbyint, __builtin_rint(x))
COURSE_FN double pow(double x, double y) { return __course::pow(x, y); }
COURSE_FN float pow(float x, float y) { return powf(x, y); }
COURSE_FN double pow(double x, int y) { return __course::pow(x, y); }
COURSE_FN float pow(float x, int y) { return powf(x, (float)y); }
COURSE_FN double pow(float x, double y) { return __course::pow(x, y); }
COURSE_FN double pow(double x, float y) { return __course::pow(x, y); }

COURSE_ONE(expm1, __course::expm1(x))
COURSE_ONE(log1p, __course::log1p(x))
COURSE_ONE(cbrt, __course::cbrt(x))
COURSE_ONE(rcbrt, 1 / __course::cbrt(x))
COURSE_ONE(sinpi, __course::sinpi(x))
COURSE_ONE(cospi, __course::cospi(x))
COURSE_ONE(asin, __course::asin(x))
COURSE_ONE(acos, __course::acos(x))
COURSE_ONE(atan, __course::atan2(x, 1))
COURSE_ONE(sinh, __course::sinh(x))
COURSE_ONE(cosh, __course::cosh(x))
COURSE_ONE(tanh, __course::tanh(x))
COURSE_ONE(asinh, __course::asinh(x))
COURSE_ONE(acosh, __course::acosh(x))
COURSE_ONE(atanh, __course::atanh(x))
COURSE_ONE(erf, __course::erf(x))
COURSE_ONE(erfc, __course::erfc(x))
COURSE_FN float normcdff(float x) { return (float)(__course::erfc(x * -0x1.6a09e667f3bcdp-1) / 2); }
COURSE_TWO(atan2, __course::atan2(x, y))
COURSE_TWO(hypot, __course::hypot(x, y))
COURSE_TWO(fmod, __course::fmod(x, y))
COURSE_TWO(remainder, __course::remainder(x, y))
COURSE_TWO(fmin, __builtin_fmin(x, y))
COURSE_TWO(fmax, __builtin_fmax(x, y))
COURSE_TWO(copysign, __builtin_copysign(x, y))
COURSE_TWO(fdim, x > y ? x - y : x == x && y == y ? 0 : x + y)
#undef COURSE_ONE
#undef COURSE_TWO
#undef COURSE_OWN

COURSE_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
COURSE_FN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
COURSE_FN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
COURSE_FN float fdividef(float x, float y) { return x / y; }
COURSE_FN double nextafter(double x, double y) { return __course::next(x, y); }
COURSE_FN float nextafterf(float x, float y) { return __course::next(x, y); }
COURSE_FN float nextafter(float x, float y) { return __course::next(x, y); }

COURSE_FN void sincos(double x, double* s, double* c) {
  *s = sin(x);
  *c = cos(x);
}
COURSE_FN void sincosf(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
COURSE_FN void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
COURSE_FN void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}

#define COURSE_PARTS(type, suffix)                                                      \
  COURSE_FN type ldexp##suffix(type x, int k) { return (type)__course::scale(x, k); }   \
  COURSE_FN type scalbn##suffix(type x, int k) { return (type)__course::scale(x, k); }  \
  COURSE_FN int ilogb##suffix(type x) {                                                 \
    return x == 0 || x != x ? -2147483647 - 1                                           \
           : __builtin_isinf(x) ? 2147483647 : __course::exponent(x);                   \
  }                                                                                     \
  COURSE_FN type logb##suffix(type x) {                                                 \
    return x == 0 ? (type)-__course::kInf : !__builtin_isfinite(x) ? x * x              \
           : (type)__course::exponent(x);                                               \
  }                                                                                     \
  COURSE_FN type frexp##suffix(type x, int* k) {                                        \
    *k = x == 0 || !__builtin_isfinite(x) ? 0 : __course::exponent(x) + 1;              \
    return (type)__course::scale(x, -*k);                                               \
  }                                                                                     \
  COURSE_FN type modf##suffix(type x, type* whole) {                                    \
    *whole = trunc##suffix(x);                                                          \
    return copysign##suffix(__builtin_isinf(x) ? 0 : x - *whole, x);                    \
  }                                                                                     \
  COURSE_FN long lrint##suffix(type x) { return (long)rint##suffix(x); }                \
  COURSE_FN long lround##suffix(type x) { return (long)round##suffix(x); }              \
  COURSE_FN long long llrint##suffix(type x) { return (long long)rint##suffix(x); }     \
  COURSE_FN long long llround##suffix(type x) { return (long long)round##suffix(x); }
COURSE_PARTS(double, )
COURSE_PARTS(float, f)
#undef COURSE_PARTS
COURSE_FN float ldexp(float x, int k) { return ldexpf(x, k); }
COURSE_FN float scalbn(float x, int k) { return scalbnf(x, k); }
COURSE_FN int ilogb(float x) { return ilogbf(x); }
COURSE_FN float logb(float x) { return logbf(x); }
COURSE_FN float frexp(float x, int* k) { return frexpf(x, k); }
COURSE_FN float modf(float x, float* whole) { return modff(x, whole); }
COURSE_FN long lrint(float x) { return lrintf(x); }
COURSE_FN long lround(float x) { return lroundf(x); }
COURSE_FN long long llrint(float x) { return llrintf(x); }
COURSE_FN long long llround(float x) { return llroundf(x); }

template <class T>
COURSE_FN bool isnan(T x) { return __builtin_isnan((double)x); }
template <class T>
COURSE_FN bool isinf(T x) { return __builtin_isinf((double)x); }
template <class T>
COURSE_FN bool isfinite(T x) { return __builtin_isfinite((double)x); }
template <class T>
COURSE_FN bool signbit(T x) { return __builtin_signbit((double)x); }

// Whole numbers are converted, as <cmath> promises.
#define COURSE_OF_INTEGER(name) \
  COURSE_FN double name(int x) { return name((double)x); }
COURSE_OF_INTEGER(sqrt)
COURSE_OF_INTEGER(rsqrt)
COURSE_OF_INTEGER(exp)
COURSE_OF_INTEGER(exp2)
COURSE_OF_INTEGER(log)
COURSE_OF_INTEGER(log2)
COURSE_OF_INTEGER(log10)
COURSE_OF_INTEGER(sin)
COURSE_OF_INTEGER(cos)
COURSE_OF_INTEGER(floor)
COURSE_OF_INTEGER(ceil)
#undef COURSE_OF_INTEGER
