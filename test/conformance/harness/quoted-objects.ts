// SPDX-License-Identifier: Apache-2.0
import type { Loose } from "./loose.ts";
import { managedFieldsInOrder } from "./managed-fields-order.ts";

const quotedObject = /"\{(?:[^"\\]|\\.)*\\"managedFields\\":\[(?:[^"\\]|\\.)*\}"/g;
const mark = '"managedFields":[';

/**
 * A message that quotes an object has the object's managedFields in the order they were in, which is partly chance: they are
 * compared in an order without time, as those of objects are. Everything else of the quotation stays as it is.
 */
export function withQuotedObjectsInOrder(text: string): string {
  return text.replaceAll(quotedObject, (quoted) => {
    const object = unquoted(quoted);
    const start = object?.indexOf(mark) ?? -1;
    if (object === undefined || start < 0) return quoted;
    const items = itemsOf(object, start + mark.length);
    const texts = new Map(items.map((item) => [JSON.parse(item) as Loose, item]));
    const sorted = managedFieldsInOrder([...texts.keys()]).map((entry) => texts.get(entry) ?? String(entry));
    const end = start + mark.length + items.join(",").length;
    return JSON.stringify(`${object.slice(0, start + mark.length)}${sorted.join(",")}${object.slice(end)}`);
  });
}

function unquoted(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

/** The texts of the items of a list that starts here. */
function itemsOf(text: string, from: number): string[] {
  const items: string[] = [];
  let [depth, start, inString] = [0, from, false];
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at += 1;
      else if (char === '"') inString = false;
      continue;
    }
    if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    if (depth < 0 || (depth === 0 && char === ",")) {
      if (at > start) items.push(text.slice(start, at));
      start = at + 1;
    }
    if (depth < 0) return items;
  }
  return items;
}
