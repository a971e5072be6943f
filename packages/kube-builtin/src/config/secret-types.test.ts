// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { secretTypeErrors } from "./config-data.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const redacted = 'Invalid value: "<secret contents redacted>"';

const cases: readonly (readonly [reason: string, type: string, more: JsonObject, want: readonly string[]])[] = [
  ["an unknown type requires nothing", "example.org/x", {}, []],
  ["not even what JavaScript has on every object", "constructor", {}, []],
  ["Opaque asks for nothing", "Opaque", {}, []],
  ["both halves of a certificate", "kubernetes.io/tls", { data: { "tls.crt": "" } }, ["data[tls.key]: Required value"]],
  [
    "a login needs a name or a password",
    "kubernetes.io/basic-auth",
    {},
    ["data[username]: Required value", "data[password]: Required value"],
  ],
  ["either will do", "kubernetes.io/basic-auth", { data: { password: "" } }, []],
  [
    "a key must not be empty",
    "kubernetes.io/ssh-auth",
    { data: { "ssh-privatekey": "" } },
    ["data[ssh-privatekey]: Required value"],
  ],
  ["a registry's configuration must be there", "kubernetes.io/dockercfg", {}, ["data[.dockercfg]: Required value"]],
  [
    "and be JSON, without showing what it is",
    "kubernetes.io/dockerconfigjson",
    { data: { ".dockerconfigjson": "AAA=" } },
    [`data[.dockerconfigjson]: ${redacted}: invalid character '\\x00' looking for beginning of value`],
  ],
  [
    "and an object",
    "kubernetes.io/dockercfg",
    { data: { ".dockercfg": base64("[]") } },
    [`data[.dockercfg]: ${redacted}: json: cannot unmarshal array into Go value of type map[string]interface {}`],
  ],
  ["as this one is", "kubernetes.io/dockercfg", { data: { ".dockercfg": base64("{}") } }, []],
  [
    "a token says whose it is",
    "kubernetes.io/service-account-token",
    {},
    ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
  ],
];

for (const [reason, type, more, want] of cases) {
  test(`a Secret's type: ${reason}`, () => {
    assert.deepEqual(secretTypeErrors({ type, ...more }).map(fieldErrorText), want);
  });
}
