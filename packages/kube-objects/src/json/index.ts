// SPDX-License-Identifier: Apache-2.0
// JSON with the fidelity of the Kubernetes API server: 64-bit integers, Go's formatting, strict parsing.
export { goJson, goNumber, goPlain, goQuote, goShortEscapes, goTypeName, isGoPrintable } from "./go-text.ts";
export { type Fractions, type JsonReading, JsonSyntaxError } from "./json-reader.ts";
export {
  countJsonValues,
  maxJsonDepth,
  parseJson,
  parseJsonStrict,
  parsingJson,
  parsingJsonStrict,
  printJson,
} from "./json-text.ts";
export {
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  jsonKind,
  ownValue,
  setOwnValue,
} from "./json-value.ts";
export { compareUtf8, sortedKeys, utf8Length } from "./utf8.ts";
