// SPDX-License-Identifier: Apache-2.0

// Classes of letters are tables of hundreds of ranges.
const letterClassSteps = 50;

interface Group {
  /** The steps of all that is finished in it. */
  sum: number;
  /** The steps of the last atom, which a repetition multiplies. */
  last: number;
}

/**
 * About how many steps a pattern has once it is compiled. Repetitions are written out, so a short text can be a large
 * pattern, and this is known before any time goes into compiling it. A malformed pattern gets some number too.
 */
export function estimateSteps(source: string): number {
  const groups: Group[] = [];
  let group: Group = { sum: 0, last: 0 };
  const add = (steps: number): void => {
    group.sum += group.last;
    group.last = steps;
  };
  for (const [token] of source.matchAll(tokens)) {
    const repetition = /^\{(\d+)(,?)(\d*)\}$/.exec(token);
    if (repetition) group.last *= Math.max(1, Number(repetition[3] || repetition[1]));
    else if (token === "(") {
      groups.push(group);
      group = { sum: 0, last: 0 };
    } else if (token === ")") {
      const steps = group.sum + group.last + 2;
      group = groups.pop() ?? { sum: 0, last: 0 };
      add(steps);
    } else add(atomSteps(token));
  }
  return groups.reduce((sum, open) => sum + open.sum + open.last, group.sum + group.last);
}

// An escape, a class in brackets, a repetition, or any other character.
const tokens = /\\[pPx]\{[^}]*\}|\\[pP]?.|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]|\{\d+,?\d*\}|./gsu;

function atomSteps(token: string): number {
  const classes = token.match(/\\[pP]/g)?.length ?? 0;
  return classes * letterClassSteps + (token.startsWith("[") ? token.length / 2 : 1);
}
