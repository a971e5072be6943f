// SPDX-License-Identifier: Apache-2.0
// What `self` is in the tests of several libraries. Limits of sizes show in the estimates of costs.

import type { Schema } from "@purlin/kube-objects/schema";
import type { Subject } from "./answers.ts";

const shortText: Schema = { type: "string", maxLength: 10 };
const words: Schema = { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } };
const integers: Schema = { type: "array", maxItems: 4, items: { type: "integer" } };

/** A value of each type that the libraries for strings read: some with limits of their size, one without. */
export const stringSubject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: shortText,
      t: { type: "string" },
      l: words,
      i: integers,
      m: { type: "object", maxProperties: 3, additionalProperties: { type: "string", maxLength: 2 } },
      n: { type: "integer" },
      b: { type: "string", format: "byte", maxLength: 8 },
    },
  },
  self: { s: "http://a/b", t: "x", l: ["a", "b"], i: [1, 2], m: { k: "v" }, n: 2, b: "aGk=" },
};

/** Lists with and without limits of their size, and a list of lists. */
export const listSubject: Subject = {
  schema: {
    type: "object",
    properties: {
      s: shortText,
      l: words,
      i: integers,
      u: { type: "array", items: { type: "integer" } },
      ll: { type: "array", maxItems: 3, items: { type: "array", maxItems: 2, items: { type: "integer" } } },
      n: { type: "integer" },
    },
  },
  self: { s: "abc", l: ["b", "a"], i: [3, 1, 2], u: [1], ll: [[1], [2, 3]], n: 2 },
};

/** A string with a limit of its length that is an IP address, and a string without a limit. */
export const addressSubject: Subject = {
  schema: { type: "object", properties: { s: shortText, t: { type: "string" } } },
  self: { s: "10.0.0.1", t: "1" },
};
