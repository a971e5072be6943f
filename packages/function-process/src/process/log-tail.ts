// SPDX-License-Identifier: Apache-2.0

/** The last lines a program wrote. */
interface LogTail {
  add(text: string): void;
  /** Oldest first, a line that is still being written included. */
  lines(): readonly string[];
}

/** What is kept of one line; the rest of a longer one is cut off. */
const maxLine = 4_096;

/** Keeps the last lines of a program, at most so many characters of them. */
export function createLogTail(maxCharacters: number): LogTail {
  let kept: string[] = [];
  let first = 0;
  let size = 0;
  let partial = "";
  const push = (line: string): void => {
    kept.push(line);
    size += line.length + 1;
    while (size > maxCharacters && first < kept.length - 1) size -= (kept[first++] ?? "").length + 1;
    // Moved only now and then, so that a line costs the same however many there are.
    if (first > 1_000 && first > kept.length / 2) {
      kept = kept.slice(first);
      first = 0;
    }
  };
  return {
    add(text) {
      const parts = text.split("\n");
      parts[0] = partial + (parts[0] ?? "");
      partial = (parts.pop() ?? "").slice(0, maxLine);
      for (const line of parts) push(line.slice(0, maxLine));
    },
    lines: () => (partial === "" ? kept.slice(first) : [...kept.slice(first), partial]),
  };
}
