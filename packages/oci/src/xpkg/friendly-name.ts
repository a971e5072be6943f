// SPDX-License-Identifier: Apache-2.0

const maxLabel = 63;

/** The name of a revision: that of its package, and the start of what identifies it. */
export function friendlyName(name: string, id: string): string {
  return dnsLabel(`${name.slice(0, 50)}-${id.slice(0, 12)}`);
}

/** A text as a DNS label: separators become hyphens, what has no place in a label is dropped. */
export function dnsLabel(text: string): string {
  let label = "";
  const last = Math.min(text.length, maxLabel) - 1;
  for (let at = 0; at <= last; at++) {
    const character = text[at] ?? "";
    if (/[a-z0-9]/.test(character)) label += character;
    else if (/[./:-]/.test(character) && at > 0 && at < last) label += "-";
  }
  return label.replaceAll(/^-+|-+$/g, "");
}
