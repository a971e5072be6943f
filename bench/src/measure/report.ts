// SPDX-License-Identifier: Apache-2.0
import type { Figure, Target } from "./figure.ts";

/** One line of the table: name, median, spread, target, verdict. */
export function formatFigure({ name, unit, median, low, high, target, verdict }: Figure): string {
  const value = `${formatNumber(median)} ${unit}`.padStart(15);
  const spread = `${formatNumber(low)} – ${formatNumber(high)}`.padStart(18);
  return `${name.padEnd(58)} ${value} ${spread}  ${formatTarget(target).padEnd(10)} ${target ? verdict : ""}`.trimEnd();
}

/** The heading above lines of {@link formatFigure}. */
export const heading: string = `${"figure".padEnd(58)} ${"median".padStart(15)} ${"spread".padStart(18)}  target`;

function formatTarget(target: Target | undefined): string {
  if (target === undefined) return "";
  return `${target.relation === "at most" ? "≤" : "≥"} ${target.value}`;
}

/** Three digits that matter, no exponent. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(digits);
}

/** A table of figures in Markdown, for the README. */
export function toMarkdown(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, unit, median, low, high, target, verdict }) => {
    const spread = `${formatNumber(low)} – ${formatNumber(high)}`;
    return `| ${name} | ${formatNumber(median)} ${unit} | ${spread} | ${formatTarget(target)} | ${target ? verdict : ""} |`;
  });
  return ["| figure | median | spread | target | |", "|---|---|---|---|---|", ...rows].join("\n");
}
