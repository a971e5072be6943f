// SPDX-License-Identifier: Apache-2.0
// Takes out of what a client printed all that two correct servers may say differently.

/** Masks texts of one server. Identities are numbered in the order in which they appear. */
export class TextMask {
  readonly #uids = new Map<string, string>();
  readonly #texts: readonly (readonly [string, string])[];

  /** `texts`: literal texts of this server, such as its address, and what stands for them. */
  constructor(texts: readonly (readonly [string, string])[]) {
    this.#texts = texts;
  }

  mask(text: string): string {
    let masked = text.replaceAll(tokenPattern, (_, payload: string) => tokenText(payload));
    for (const [found, label] of this.#texts) masked = masked.replaceAll(found, label);
    masked = masked.replaceAll(uidPattern, (uid) => this.#ordinal(uid));
    for (const [pattern, label] of varying) masked = masked.replaceAll(pattern, label);
    // Columns are as wide as their longest cell, and ages differ in length.
    return masked.replaceAll(/(?<=\S) {2,}/g, "  ").replaceAll(/ +$/gm, "");
  }

  #ordinal(uid: string): string {
    const label = this.#uids.get(uid) ?? `<uid ${this.#uids.size + 1}>`;
    this.#uids.set(uid, label);
    return label;
  }
}

const tokenPattern = /eyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]+/g;
const uidPattern = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

const varying: readonly (readonly [RegExp, string])[] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/g, "<micro-time>"],
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>"],
  [/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>"],
  [/(resource ?version"?: *"?)[1-9]\d*/gi, "$1<version>"],
  [/(?<=\s)(?:\d+[smhd])+(?= *$| {2,}| \()/gm, "<age>"],
  // kubectl remarks on a watch that it ended itself within a second: that is its clock, on either server.
  [/^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ reflector\.go.*very short watch.*\n/gm, ""],
  // So does helm, when it ends a watch while an event arrives.
  [/^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ reflector\.go.*watch ended with error.*context canceled.*\n/gm, ""],
  [/\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ /g, "<log line> "],
  [/X509SHA256=[0-9a-f]{64}/g, "X509SHA256=<digest>"],
  [/"(exp|iat|nbf)":\d+/g, '"$1":"<seconds>"'],
];

/** A token as what it says; its signature and its times are the server's. */
function tokenText(payload: string): string {
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  return `<token ${JSON.stringify(Object.fromEntries(Object.entries(claims).sort()))}>`;
}
