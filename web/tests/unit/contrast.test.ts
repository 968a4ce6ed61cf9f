// Contrast of the page's colours by the formula of WCAG 2, in both themes, from the style sheet itself.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const sheet = readFileSync(new URL("../../src/styles/tokens.css", import.meta.url), "utf8");
const colours = Object.fromEntries([...sheet.matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\)/g)].map(([, name, light, dark]) => [name!, { light: light!, dark: dark! }]));

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

const text: [string, string][] = [
  ["ink", "ground"], ["ink", "surface"], ["ink", "sunken"], ["ink", "warn-ground"], ["soft", "ground"], ["soft", "surface"], ["soft", "sunken"], ["accent", "ground"], ["accent", "surface"],
  ["on-accent", "accent"], ["warn", "warn-ground"], ["warn", "ground"], ["bad", "bad-ground"], ["bad", "ground"], ["bad", "surface"], ["ground", "ink"],
];
const shapes: [string, string][] = [["edge", "surface"], ["edge", "ground"], ["accent", "line"]];

describe.each(["light", "dark"] as const)("%s", (theme) => {
  test.each(text)("text in %s on %s", (a, b) => expect(contrast(colours[a]![theme], colours[b]![theme])).toBeGreaterThanOrEqual(4.5));
  test.each(shapes)("edges in %s on %s", (a, b) => expect(contrast(colours[a]![theme], colours[b]![theme])).toBeGreaterThanOrEqual(3));
});

test("the formula tells black from white", () => expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 6));
