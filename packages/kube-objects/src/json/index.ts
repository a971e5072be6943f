// SPDX-License-Identifier: Apache-2.0
// JSON with the fidelity of the Kubernetes API server: 64-bit integers, Go's formatting, strict parsing.
export { goJson, goNumber, goQuote, goShortEscapes, isGoPrintable } from "./go-text.ts";
export { goPlain, goTypeName } from "./go-value.ts";
export { jsonEqual } from "./json-equal.ts";
export { jsonKind } from "./json-kind.ts";
export { type Fractions, type JsonReading, JsonSyntaxError } from "./json-reader.ts";
export { countJsonValues } from "./json-scan.ts";
export { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./json-value.ts";
export { ownValue, setOwnValue } from "./own-value.ts";
export { maxJsonDepth, parseJson, parseJsonStrict, parsingJsonStrict } from "./parse-json.ts";
export { printJson } from "./print-json.ts";
export { compareUtf8, sortedKeys, utf8Length } from "./utf8.ts";
