/** What both charts share: axes, colours from the style sheet, and the width of their box. */

import uPlot from "uplot";
import { compact } from "../format";
import { colour, onTheme } from "../theme";
import { timeLabels } from "./time-labels";

const FONT = '12px "Plex Sans", system-ui, sans-serif';

export type Palette = Record<"accent" | "band" | "soft" | "line", string>;

export function palette(): Palette {
  return { accent: colour("accent"), band: colour("band"), soft: colour("soft"), line: colour("line") };
}

/** Axes that read their colours each time they are drawn. */
export function axes(of: () => Palette, time: boolean): uPlot.Axis[] {
  const common: uPlot.Axis = { font: FONT, stroke: () => of().soft, ticks: { show: false }, gap: 8 };
  const horizontal: uPlot.Axis = {
    ...common,
    grid: { show: false },
    size: time ? 44 : 30,
    space: 84,
    values: (_plot, splits, _axis, _space, increment) => (time ? timeLabels(splits, increment) : splits.map((split) => (Number.isInteger(split) ? compact(split) : ""))),
  };
  const vertical: uPlot.Axis = {
    ...common,
    grid: { stroke: () => of().line, width: 1 },
    space: 44,
    size: (_plot, values) => 16 + 7 * Math.max(2, ...(values ?? []).map((value) => value.length)),
    values: (_plot, splits) => splits.map(compact),
  };
  return [horizontal, vertical];
}

/** Keeps a chart as wide as its box and in the colours of the theme, until the view is left. */
export function attend(plot: uPlot, box: HTMLElement, height: () => number, recolour: () => void, signal: AbortSignal): void {
  const observer = new ResizeObserver(() => {
    if (box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height: height() });
  });
  observer.observe(box);
  onTheme(signal, () => {
    recolour();
    plot.redraw();
  });
  // Text that was drawn before the font loaded would keep the fallback font.
  void document.fonts.ready.then(() => signal.aborted || plot.redraw(false, true));
  signal.addEventListener("abort", () => {
    observer.disconnect();
    plot.destroy();
  }, { once: true });
}
