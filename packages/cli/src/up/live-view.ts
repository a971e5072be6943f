// SPDX-License-Identifier: Apache-2.0
import type { Io } from "../io.ts";
import { createScreen } from "../terminal/screen.ts";
import { createStyle } from "../terminal/style.ts";
import { changedLines } from "../tree/render-forest.ts";
import { problemTexts, type Situation, situationLines, situationTexts } from "./situation.ts";

/** Shows what is going on: drawn again on a terminal, line by line elsewhere. */
export interface LiveView extends Disposable {
  /** Says something that stays. */
  say(text: string): void;
  show(situation: Situation): void;
}

/** A view that suits the output. */
export function createLiveView(io: Io): LiveView {
  return io.stdout.isTTY && io.env["TERM"] !== "dumb" ? onTerminal(io) : inLines(io);
}

function onTerminal(io: Io): LiveView {
  const screen = createScreen(io.stdout);
  const style = createStyle(io.stdout, io.env);
  let last: Situation | undefined;
  const lines = (): string[] => (last === undefined ? [] : ["", ...situationLines(last, style, screen.room() - 1)]);
  const stop = io.stdout.onResize?.(() => screen.resized(lines()));
  return {
    say: (text) => screen.print(`${text}\n`),
    show(situation) {
      last = situation;
      screen.draw(lines());
    },
    [Symbol.dispose]: () => stop?.(),
  };
}

function inLines(io: Io): LiveView {
  let before: ReadonlyMap<string, string> = new Map();
  let problems: ReadonlyMap<string, string> = new Map();
  return {
    say: (text) => io.stdout.write(`${text}\n`),
    show(situation) {
      const now = situationTexts(situation);
      const problemsNow = problemTexts(situation);
      const lines = [...changedLines(before, now), ...changedLines(problems, problemsNow, "resolved")];
      for (const line of lines) io.stdout.write(`${line}\n`);
      before = now;
      problems = problemsNow;
    },
    [Symbol.dispose]() {},
  };
}
