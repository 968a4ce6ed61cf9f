"""High-precision reference for the calibration of noise multipliers.

Prints, for each (epsilon, delta), the smallest Gaussian noise multiplier that is (epsilon, delta)-private (`exact`)
and the one that the tight conversion from zCDP allows (`zcdp`). Both come from the definitions, by other formulas
than the library's: the difference of two normal tails at 80 digits, and a golden-section search over the order.
Parameters are the doubles nearest to the decimals shown, taken exactly.

    pip install mpmath && python calibration.py > calibration.csv
"""

from mpmath import erfc, exp, log, log1p, mp, mpf, sqrt

mp.dps = 80
DIGITS = 35

EPSILONS = ["1e-3", "1e-2", "0.1", "0.5", "1", "2", "5", "10", "20", "50"]
DELTAS = ["1e-300", "1e-100", "1e-30", "1e-15", "1e-10", "1e-6", "1e-3", "0.1", "0.5"]
# The ends of what the library accepts, beyond the range in which twelve digits are promised.
FAR = [(e, d) for e in ["1e-6", "1", "1000"] for d in ["1e-300", "1e-6", "0.9", "0.999999", "0.9999999999999999"]]


def gaussian_delta(sigma, epsilon):
    """Phi(1/2s - es) - e^e Phi(-1/2s - es)."""
    upper = erfc((epsilon * sigma - 1 / (2 * sigma)) / sqrt(mpf(2))) / 2
    lower = erfc((epsilon * sigma + 1 / (2 * sigma)) / sqrt(mpf(2))) / 2
    return upper - exp(epsilon) * lower


def exact(epsilon, delta):
    """The root in sigma of gaussian_delta(sigma) = delta, bisected in ln sigma."""
    low, high = mpf(-10), mpf(40)
    while high - low > mpf(10) ** (-DIGITS - 5):
        middle = (low + high) / 2
        if gaussian_delta(exp(middle), epsilon) > delta:
            low = middle
        else:
            high = middle
    return exp(high)


def zcdp(epsilon, delta):
    """1/sqrt(2 rho), rho the largest that some order alpha = 1 + e^v converts to (epsilon, delta)."""

    def rho(v):
        u = exp(v)
        return (epsilon + (log(delta) + log1p(u)) / u + log1p(1 / u)) / (1 + u)

    golden = (sqrt(mpf(5)) - 1) / 2
    low, high = mpf(-60), mpf(40)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = rho(left), rho(right)
    while high - low > mpf(10) ** -25:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = rho(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = rho(right)
    return 1 / sqrt(2 * max(at_left, at_right))


print("# made by: pip install mpmath && python calibration.py > calibration.csv")
print("epsilon,delta,exact,zcdp")
for e, d in [(e, d) for e in EPSILONS for d in DELTAS] + FAR:
    epsilon, delta = mpf(float(e)), mpf(float(d))
    print(f"{e},{d},{mp.nstr(exact(epsilon, delta), DIGITS)},{mp.nstr(zcdp(epsilon, delta), DIGITS)}")
