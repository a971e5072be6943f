// SPDX-License-Identifier: Apache-2.0
// JSON with the fidelity of the Kubernetes API server: 64-bit integers, Go's formatting, strict parsing.
export { fitsIndented } from "./fits-indented.ts";
export {
  goFloat,
  goJson,
  goNumber,
  goPlain,
  goQuote,
  goQuotedList,
  goQuotedMap,
  goShortEscapes,
  goTypeName,
  isGoPrintable,
} from "./go-text.ts";
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
  compareUtf8,
  isContainer,
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  jsonKind,
  ownValue,
  setOwnValue,
  sortedKeys,
  utf8Length,
} from "./json-value.ts";
export { printingJson } from "./printing-json.ts";
