/** Labels of a time axis, in the reader's time zone and on a clock of 24 hours. Pure. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (n: number) => String(n).padStart(2, "0");

/**
 * One label per split (seconds since 1970). `increment` is the distance between two splits. Labels have a
 * second line, the day under hours and the year under days: on the first label and at every change.
 */
export function timeLabels(splits: readonly number[], increment: number): string[] {
  let shown = "";
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
    const year = String(date.getFullYear());
    const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
    if (increment >= 360 * 86_400) return year;
    const [label, context] =
      increment >= 86_400 ? [increment >= 28 * 86_400 ? MONTHS[date.getMonth()]! : day, year]
      : increment >= 60 ? [clock, day]
      : [`${clock}:${two(date.getSeconds())}`, day];
    if (context === shown) return label;
    shown = context;
    return `${label}\n${context}`;
  });
}
