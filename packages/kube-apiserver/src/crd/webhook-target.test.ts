// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conversionProblems, webhookTargetErrors } from "./webhook-target.ts";

const form = "; desired format: https://host[/path]";
const service = { namespace: "ns", name: "hook" };
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const targets: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["a URL", { url: "https://hook.example.org:8443/path" }, []],
  ["a Service", { service }, []],
  ["a Service with a port and a path", { service: { ...service, port: 8443, path: "/a/b.c/" } }, []],
  ["neither", {}, ["p: Required value: exactly one of url or service is required"]],
  ["both", { url: "https://a", service }, ["p: Required value: exactly one of url or service is required"]],
  [
    "another scheme",
    { url: "http://a" },
    [`p.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`],
  ],
  [
    "no scheme and no host",
    { url: "a" },
    [
      `p.url: Invalid value: "": 'https' is the only allowed URL scheme${form}`,
      `p.url: Invalid value: "": host must be specified${form}`,
    ],
  ],
  [
    "a user, a query and a fragment",
    { url: "https://u:p@a?b=c#d" },
    [
      'p.url: Invalid value: "u:p": user information is not permitted in the URL',
      'p.url: Invalid value: "d": fragments are not permitted in the URL',
      'p.url: Invalid value: "b=c": query parameters are not permitted in the URL',
    ],
  ],
  [
    "a URL that cannot be parsed",
    { url: "https://a:b" },
    [`p.url: Required value: url must be a valid URL: parse "https://a:b": invalid port ":b" after host${form}`],
  ],
  ["a Service without a namespace", { service: { name: "hook" } }, ["p.service.name: Required value"]],
  ["a Service without a name", { service: { namespace: "ns" } }, ["p.service.namespace: Required value"]],
  [
    "a port that is too low",
    { service: { ...service, port: 0 } },
    ["p.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"],
  ],
  ["the path /", { service: { ...service, path: "/" } }, []],
  [
    "the path //",
    { service: { ...service, path: "//" } },
    ['p.service.path: Invalid value: "//": segment[0] may not be empty'],
  ],
  [
    "a path without a slash",
    { service: { ...service, path: "ab" } },
    [`p.service.path: Invalid value: "ab": must start with a '/'`],
  ],
  [
    "an empty segment",
    { service: { ...service, path: "/a//b" } },
    ['p.service.path: Invalid value: "/a//b": segment[1] may not be empty'],
  ],
  [
    "a bad segment",
    { service: { ...service, path: "/a/B" } },
    [`p.service.path: Invalid value: "/a/B": segment[1]: ${subdomain}`],
  ],
];

for (const [name, config, expected] of targets) {
  test(`where a webhook is: ${name}`, () => {
    assert.deepEqual(webhookTargetErrors(config, "p").map(fieldErrorText), expected);
  });
}

const clientConfig = { service };
const versions = (...conversionReviewVersions: string[]): JsonObject => ({
  strategy: "Webhook",
  webhook: { clientConfig, conversionReviewVersions },
});

const conversions: readonly (readonly [string, JsonObject | undefined, readonly string[]])[] = [
  ["nothing", undefined, []],
  ["no conversion", { strategy: "None" }, []],
  ["a webhook", versions("v1"), []],
  ["a version that the server knows after others", versions("v9", "v1beta1"), []],
  ["no strategy", {}, ["c.strategy: Required value"]],
  [
    "an unknown strategy",
    { strategy: "X" },
    ['c.strategy: Unsupported value: "X": supported values: "None", "Webhook"'],
  ],
  [
    "a webhook without the strategy",
    { strategy: "None", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
    [
      "c.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
      "c.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
    ],
  ],
  [
    "no webhook",
    { strategy: "Webhook" },
    [
      "c.webhookClientConfig: Required value: required when strategy is set to Webhook",
      "c.conversionReviewVersions: Required value",
    ],
  ],
  [
    "a target that is not valid",
    { strategy: "Webhook", webhook: { clientConfig: {}, conversionReviewVersions: ["v1"] } },
    ["c.webhookClientConfig: Required value: exactly one of url or service is required"],
  ],
  [
    "only versions that the server does not know",
    versions("v2", "v3"),
    ['c.conversionReviewVersions: Invalid value: ["v2","v3"]: must include at least one of v1, v1beta1'],
  ],
  ["a version twice", versions("v1", "v1"), ['c.conversionReviewVersions[1]: Invalid value: "v1": duplicate version']],
];

for (const [name, conversion, expected] of conversions) {
  test(`a conversion: ${name}`, () => {
    const errors = [...conversionProblems(conversion, "c", { preserveUnknownFields: false })];
    assert.deepEqual(errors.map(fieldErrorText), expected);
  });
}

test("unknown fields cannot be preserved by a webhook", () => {
  const errors = (conversion: JsonObject): string[] =>
    [...conversionProblems(conversion, "c", { preserveUnknownFields: true })].map(fieldErrorText);
  assert.deepEqual(errors(versions("v1")), [
    'c.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
  ]);
  assert.deepEqual(errors({ strategy: "None" }), []);
});

test("the name of a version of reviews is a label", () => {
  const errors = [...conversionProblems(versions("v1", "1"), "c", { preserveUnknownFields: false })].map(
    fieldErrorText,
  );
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? "", /^c\.conversionReviewVersions\[1\]: Invalid value: "1": a DNS-1035 label must /);
});
