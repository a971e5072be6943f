// SPDX-License-Identifier: Apache-2.0

// JSON with the reference server's fidelity.
export { goJson, goNumber, goQuote } from "./json/go-text.ts";
export { jsonEqual } from "./json/json-equal.ts";
export { type JsonReading, JsonSyntaxError } from "./json/json-reader.ts";
export { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json/json-value.ts";
export { ownValue, setOwnValue, withOwnValue, withoutOwnValue } from "./json/own-value.ts";
export { maxJsonDepth, parseJson, parseJsonStrict } from "./json/parse-json.ts";
export { type PrintJsonOptions, printJson } from "./json/print-json.ts";
export { compareUtf8, sortedKeys, utf8Length } from "./json/utf8.ts";
