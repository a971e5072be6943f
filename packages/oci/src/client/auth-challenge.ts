// SPDX-License-Identifier: Apache-2.0

/** One way to authenticate that a server offers in `WWW-Authenticate`. */
export interface AuthChallenge {
  /** Lower case. */
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const parameter = /([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;
const scheme = /([A-Za-z][A-Za-z0-9_-]*)(?=\s|$|,)(?!\s*=)/y;
const separator = /[\s,]*/y;

/** Reads a `WWW-Authenticate` header: any number of schemes, each with its parameters. */
export function parseChallenges(header: string): AuthChallenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(header);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  while (at < header.length) {
    take(separator);
    const pair = take(parameter);
    if (pair !== null) {
      const [, name = "", quoted, bare = ""] = pair;
      const value = quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, "$1");
      const current = challenges.at(-1);
      if (current !== undefined) current.parameters[name.toLowerCase()] = value;
      continue;
    }
    const name = take(scheme);
    if (name === null) break;
    challenges.push({ scheme: (name[1] ?? "").toLowerCase(), parameters: {} });
  }
  return challenges;
}
