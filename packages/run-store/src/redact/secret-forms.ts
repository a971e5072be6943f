// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";

/** Shorter values occur by chance: they are marked where they are, and not searched for elsewhere. */
const leastBytes = 8;

/** The texts under which a secret value may occur elsewhere: plain, escaped, in a URL, in base64, and line by line. */
export function secretForms(value: Uint8Array): readonly string[] {
  if (value.length < leastBytes) return [];
  const forms = new Set<string>(base64Forms(value));
  const text = textOf(value);
  if (text !== undefined) for (const form of textForms(text)) forms.add(form);
  return [...forms].filter((form) => Buffer.byteLength(form) >= leastBytes);
}

function textForms(text: string): readonly string[] {
  // A private key in a manifest is indented, so that only its lines are the same. Armor lines are not secret.
  const lines = text.includes("\n") ? text.split(/\r?\n/).map((line) => line.trim()) : [];
  const secret = lines.filter((line) => line.length >= leastBytes && !line.startsWith("-----"));
  const whole = [text, text.trim()].filter((one) => one.length >= leastBytes);
  return [...whole, ...secret].flatMap((one) => [one, JSON.stringify(one).slice(1, -1), ...urlForms(one)]);
}

function urlForms(text: string): readonly string[] {
  try {
    const encoded = encodeURIComponent(text);
    return [encoded, encoded.replaceAll("%20", "+"), encodeURI(text)];
  } catch {
    // A lone surrogate has no URL form.
    return [];
  }
}

/** Base64 at each of the three offsets at which a value can begin within a longer one, such as `user:password`. */
function base64Forms(value: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), value]);
    const encoded = shifted.toString("base64").replaceAll("=", "");
    // Characters at either end that hold bits of the neighbours differ from case to case.
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function textOf(value: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(value);
  } catch {
    return undefined;
  }
}
