// SPDX-License-Identifier: Apache-2.0
// Draws a way through the code: a frame for each package, in it a box for each step, read like text.
import { escapeHtml } from "../docs-site/html.ts";
import type { NamedCode } from "./named-code.ts";

const columns = 3;
const box = { width: 262, height: 78 } as const;
const frame = { padding: 12, title: 24, gap: 24 } as const;
/** From one box to the next: across, and down inside a frame. */
const across: number = box.width + 2 * frame.padding + frame.gap;
const down: number = box.height + frame.gap;
const width: number = columns * across - frame.gap;

/** Steps that follow each other in one package. */
interface Frame {
  readonly title: string;
  readonly steps: { readonly number: number; readonly code: NamedCode }[];
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** The picture of a way as an SVG file, with colors for light and dark. */
export function drawWay(title: string, rows: readonly NamedCode[]): string {
  let top = 2;
  const bands = bandsOf(framesOf(rows));
  const parts = bands.map((band, index) => {
    const before = bands[index - 1];
    const drawn = (before === undefined ? "" : `${arrowFrom(before, top)}\n`) + drawBand(band, top);
    top += Math.max(...band.map(heightOf)) + frame.gap;
    return drawn;
  });
  const height = top - frame.gap + 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" class="way">
<title>${escapeHtml(title)}</title>
<style>${ownColors}</style>
${parts.join("\n")}
</svg>
`;
}

const ownColors = `
.way text { font: 12px system-ui, sans-serif; fill: #1c2127; }
.way .way-title { font-weight: 600; font-size: 13px; }
.way .way-name, .way .way-file { font-family: ui-monospace, monospace; }
.way .way-name { font-weight: 600; font-size: 13px; }
.way .way-file, .way .way-does { fill: #57606a; font-size: 11px; }
.way .way-frame { fill: #f5f6f8; stroke: #d5d9df; }
.way .way-box { fill: #ffffff; stroke: #8b949e; }
.way .way-arrow { stroke: #57606a; fill: none; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  .way text { fill: #e4e8ec; }
  .way .way-file, .way .way-does { fill: #a3adb8; }
  .way .way-frame { fill: #1d2329; stroke: #353e47; }
  .way .way-box { fill: #14181c; stroke: #6b7682; }
  .way .way-arrow { stroke: #a3adb8; }
}
`;

function framesOf(rows: readonly NamedCode[]): readonly Frame[] {
  const frames: Frame[] = [];
  for (const [index, code] of rows.entries()) {
    const title = code.file?.split("/")[0] ?? "outside";
    const step = { number: index + 1, code };
    const last = frames.at(-1);
    if (last?.title === title) last.steps.push(step);
    else frames.push({ title, steps: [step] });
  }
  return frames;
}

/** Small frames stand beside each other. */
function bandsOf(frames: readonly Frame[]): readonly Frame[][] {
  const bands: Frame[][] = [];
  for (const one of frames) {
    const last = bands.at(-1);
    const used = last?.reduce((sum, { steps }) => sum + steps.length, 0) ?? columns;
    if (last !== undefined && used + one.steps.length <= columns) last.push(one);
    else bands.push([one]);
  }
  return bands;
}

function heightOf({ steps }: Frame): number {
  const lines = Math.ceil(steps.length / columns);
  return frame.title + (lines - 1) * down + box.height + frame.padding;
}

function drawBand(band: readonly Frame[], top: number): string {
  let column = 0;
  const parts = band.map((one) => {
    const at = { x: column * across, y: top };
    const arrow =
      column === 0 ? "" : `${arrowRight({ x: at.x + 1, y: top + frame.title + box.height / 2 }, frame.gap)}\n`;
    column += one.steps.length;
    return arrow + drawFrame(one, at);
  });
  return parts.join("\n");
}

function drawFrame(one: Frame, { x, y }: Place): string {
  const span = Math.min(one.steps.length, columns) * across - frame.gap;
  const boxes = one.steps.map(({ number, code }, index) => {
    const place = {
      x: x + frame.padding + (index % columns) * across,
      y: y + frame.title + Math.floor(index / columns) * down,
    };
    return drawBox(number, code, place) + (index === 0 ? "" : `\n${arrowToBox(index, place)}`);
  });
  return [
    `<rect class="way-frame" x="${x + 1}" y="${y}" width="${span - 2}" height="${heightOf(one)}" rx="8"/>`,
    `<text class="way-title" x="${x + frame.padding}" y="${y + 17}">${escapeHtml(one.title)}</text>`,
    ...boxes,
  ].join("\n");
}

const lettersPerLine = 43;
const mostLines = 2;

function drawBox(number: number, { file, name, does }: NamedCode, { x, y }: Place): string {
  const path = file === undefined ? undefined : shortPath(file);
  const texts = [
    ["way-name", `${number} ${name}`, 19] as const,
    ...(path === undefined ? [] : [["way-file", path, 35] as const]),
    ...wrap(does).map((line, index) => ["way-does", line, (path === undefined ? 38 : 54) + index * 14] as const),
  ];
  const lines = texts.map(
    ([kind, text, below]) => `<text class="${kind}" x="${x + 10}" y="${y + below}">${escapeHtml(text)}</text>`,
  );
  const outline = `<rect class="way-box" x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="6"/>`;
  return [outline, ...lines].join("\n");
}

const lettersPerPath = 36;

/** The path inside `src`; a long one without its first folders. */
function shortPath(file: string): string {
  const path = file.slice(file.indexOf("/src/") + "/src/".length);
  if (path.length <= lettersPerPath) return path;
  const cut = path.indexOf("/", path.length - lettersPerPath);
  return `…${path.slice(cut)}`;
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= lettersPerLine) lines.splice(-1, 1, `${last} ${word}`);
    else lines.push(word);
  }
  if (lines.length > mostLines)
    throw new Error(`"${text}" is longer than ${mostLines} lines of ${lettersPerLine} letters`);
  return lines;
}

/** From the box before: along the line, or from the last box of the line above. */
function arrowToBox(index: number, { x, y }: Place): string {
  if (index % columns > 0) return arrowRight({ x: x - 1, y: y + box.height / 2 }, across - box.width - 1);
  return arrowBack(columns - 1, y);
}

/** From the last box of a band to the first box of the band at `top`. */
function arrowFrom(band: readonly Frame[], top: number): string {
  const steps = band.reduce((sum, one) => sum + one.steps.length, 0);
  return arrowBack((steps - 1) % columns, top);
}

/** From a column of the line above to the first box of the line at `y`. */
function arrowBack(column: number, y: number): string {
  const end = { x: frame.padding + box.width / 2, y: y - 1 };
  const path = `M${end.x + column * across} ${y - frame.gap}v${frame.gap / 2}H${end.x}V${end.y}`;
  return `<path class="way-arrow" d="${path}"/>${arrowHead(end, "down")}`;
}

function arrowRight(end: Place, length: number): string {
  const path = `M${end.x - length} ${end.y}h${length}`;
  return `<path class="way-arrow" d="${path}"/>${arrowHead(end, "right")}`;
}

function arrowHead({ x, y }: Place, direction: "right" | "down"): string {
  const tip = direction === "right" ? `M${x - 6} ${y - 4}l6 4l-6 4` : `M${x - 4} ${y - 6}l4 6l4 -6`;
  return `<path class="way-arrow" d="${tip}"/>`;
}
