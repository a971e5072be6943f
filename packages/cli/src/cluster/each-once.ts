// SPDX-License-Identifier: Apache-2.0

/** Writes each text once: the same warning comes with every object of a kind. */
export function eachOnce(write: (text: string) => void): (text: string) => void {
  const written = new Set<string>();
  return (text) => {
    if (!written.has(text)) write(text);
    written.add(text);
  };
}
