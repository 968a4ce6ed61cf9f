/** Formats of numbers, durations and moments. Pure. */

const MINUS = "\u2212";
const NARROW = "\u202f";

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A released number: integers in full, others with at most `places` digits after the point. */
export function number(value: number, places = 3): string {
  if (!Number.isFinite(value)) return "not a number";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 10 ** -places / 2)) return scientific(value);
  const [whole = "0", rest = ""] = size.toFixed(places).split(".");
  const decimals = rest.replace(/0+$/, "");
  const text = group(whole) + (decimals ? `.${decimals}` : "");
  return value < 0 && text !== "0" ? MINUS + text : text;
}

/** Few characters for the axis of a chart: 1.2 M, 35 k. */
export function compact(value: number): string {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]] as const) {
    if (size >= unit) return number(value / (letter === "k" ? 1e3 : unit), 2) + NARROW + letter;
  }
  return number(value, 2);
}

/** 1e-6 as 10⁻⁶, 2.5e-7 as 2.5 × 10⁻⁷. */
export function scientific(value: number): string {
  if (value === 0) return "0";
  const [mantissa = "1", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const short = Number(Number(mantissa).toPrecision(3));
  const raised = [...String(Number(exponent))].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
  const sign = value < 0 ? MINUS : "";
  return short === 1 ? `${sign}10${raised}` : `${sign}${short}${NARROW}×${NARROW}10${raised}`;
}

/** ε, δ or ρ: three significant digits, as a power of ten when that is shorter. */
export function parameter(value: number): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "no bound";
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e6 ? scientific(value) : number(Number(value.toPrecision(3)), 6);
}

/** An error or margin: two significant digits below 100, integers above. Rounded up, so that it holds. */
export function margin(value: number): string {
  if (!Number.isFinite(value) || value < 0) return "unknown";
  if (value === 0) return "0";
  if (value >= 100) return number(Math.ceil(shave(value)), 0);
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  const steps = Math.ceil(shave(value / unit));
  // Dividing by a power of ten is exact to the last place, multiplying by its inverse is not.
  const rounded = unit < 1 ? steps / Math.round(1 / unit) : steps * unit;
  return number(rounded, Math.max(0, -Math.floor(Math.log10(unit))));
}

/** Removes the error of floating point, so that 24.000000000000004 rounds up to 24 and not to 25. */
function shave(value: number): number {
  return value * (1 - 1e-12);
}

/** The 95 % margin of a Gaussian number, in standard errors. */
export const NORMAL_95 = 1.959964;

/** Half the width of a 95 % interval. */
export function halfWidth(release: { lower: number; upper: number }): number {
  return (release.upper - release.lower) / 2;
}

/** The ends of an interval, to the digits of its margin and rounded outwards. */
export function bounds(release: { lower: number; upper: number }): { lower: string; upper: string } {
  const half = halfWidth(release);
  const places = half >= 10 || half <= 0 ? 0 : Math.min(6, 1 - Math.floor(Math.log10(half)));
  const scale = 10 ** places;
  return { lower: number(Math.floor(release.lower * scale + 1e-9) / scale, places), upper: number(Math.ceil(release.upper * scale - 1e-9) / scale, places) };
}

/** 0.13 for 1.0013: how many per cent more than one, rounded up. */
export function percentOver(ratio: number): string {
  return `${margin(Math.max(0, ratio - 1) * 100)}${NARROW}%`;
}

export function percent(share: number): string {
  return `${number(share * 100, 1)}${NARROW}%`;
}

/** "6.3 times": rounded down, because it is a claim. */
export function times(ratio: number): string {
  const places = ratio < 100 ? 1 : 0;
  const scale = 10 ** places;
  return number(Math.floor(ratio * scale * (1 + 1e-12)) / scale, places);
}

const UNITS = [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]] as const;
const WORDS: Record<string, string> = { d: "day", h: "hour", m: "minute", s: "second" };

/** The seconds of "15m", "1h", "90s", "250ms" or "1d12h". Null for any other text. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (!/^(\d+(\.\d+)?(ms|[smhdw])\s*)+$/.test(trimmed)) return null;
  const seconds: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
  let total = 0;
  for (const [, amount, , unit] of trimmed.matchAll(/(\d+(\.\d+)?)(ms|[smhdw])/g)) total += Number(amount) * seconds[unit!]!;
  return total > 0 ? total : null;
}

/** A span in its two largest units: "2 h 5 min", "48 s". */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole >= 360 * 86_400) {
    const years = number(whole / (365.25 * 86_400), 1);
    return years === "1" ? "1 year" : `${years} years`;
  }
  for (const [index, [letter, unit]] of UNITS.entries()) {
    if (whole < unit) continue;
    const below = UNITS[index + 1];
    const rest = below ? Math.floor((whole % unit) / below[1]) : 0;
    const head = `${group(String(Math.floor(whole / unit)))} ${letter === "m" ? "min" : letter}`;
    return rest && below && whole / unit < 100 ? `${head} ${rest} ${below[0] === "m" ? "min" : below[0]}` : head;
  }
  return "0 s";
}

/** "every hour", "every 15 minutes", "by hand". */
export function cadence(every: string | null): string {
  if (every === null) return "by hand";
  const seconds = parseDuration(every);
  if (seconds === null) return `every ${every}`;
  for (const [letter, unit] of UNITS) {
    if (seconds < unit || seconds % unit !== 0) continue;
    const count = seconds / unit;
    return count === 1 ? `every ${WORDS[letter]}` : `every ${count} ${WORDS[letter]}s`;
  }
  return `every ${every}`;
}

/** A moment in the reader's own time zone. Zero seconds are left out. */
export function moment(time: string | number | Date): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (n: number) => String(n).padStart(2, "0");
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}` + (date.getSeconds() ? `:${two(date.getSeconds())}` : "");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock}`;
}

/** "3 counters", "1 counter". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count, 0)} ${count === 1 ? one : many}`;
}
