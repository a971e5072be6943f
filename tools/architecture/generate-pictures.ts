// SPDX-License-Identifier: Apache-2.0
import { readCodeTables } from "./named-code.ts";
import { drawWay } from "./picture.ts";

const way = "the-way-of-";

/** The pictures of the architecture page, by their path: one for each section "The way of …". */
export function generatePictures(): ReadonlyMap<string, string> {
  const ways = readCodeTables().filter(({ id }) => id.startsWith(way));
  return new Map(ways.map(({ id, heading, rows }) => [pathOf(id), drawWay(heading, rows)]));
}

function pathOf(id: string): string {
  return `docs/pictures/${id.slice("the-".length)}.svg`;
}
