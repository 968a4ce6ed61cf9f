/** A small curve with its band, as vector graphics, because a page shows many of them. */

import { s } from "../dom";
import { thin } from "../series";
import type { Release } from "../types";

const WIDTH = 160;
const HEIGHT = 40;

/** The outlines of the curve and of its band in a box of 160 by 40. Pure. */
export function sparklinePaths(releases: readonly Release[]): { line: string; band: string } | null {
  const points = thin(releases, 60);
  if (points.length < 2) return null;
  const from = points[0]!.step;
  const wide = points.at(-1)!.step - from;
  const low = Math.min(...points.map((point) => point.lower));
  const high = Math.max(...points.map((point) => point.upper));
  const x = (step: number) => (((step - from) / wide) * WIDTH).toFixed(1);
  const y = (value: number) => (high === low ? HEIGHT / 2 : HEIGHT - 2 - ((value - low) / (high - low)) * (HEIGHT - 4)).toFixed(1);
  const path = (of: (point: Release) => number, order = points) => order.map((point) => `${x(point.step)} ${y(of(point))}`).join("L");
  return {
    line: `M${path((point) => point.value)}`,
    band: `M${path((point) => point.upper)}L${path((point) => point.lower, points.toReversed())}Z`,
  };
}

/** Hidden from screen readers, because the row has the value and its error as text. */
export function sparkline(releases: readonly Release[]): SVGSVGElement {
  const paths = sparklinePaths(releases);
  return s(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    paths && s("path", { class: "spark-band", d: paths.band }),
    paths && s("path", { class: "spark-line", d: paths.line, "vector-effect": "non-scaling-stroke" }),
  );
}
