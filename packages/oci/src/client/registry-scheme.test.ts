// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { isOciError } from "../content/oci-error.ts";
import { createSchemes, isLoopback } from "./registry-client.ts";
import type { RegistrySend } from "./registry-http.ts";

const hosts: Record<string, boolean> = {
  localhost: true,
  "localhost:5000": true,
  "registry.localhost:5000": true,
  "127.0.0.1:5000": true,
  "127.9.9.9": true,
  "[::1]:5000": true,
  "registry.example.org": false,
  "localhost.example.org": false,
  "127.0.0.1.example.org": false,
  "10.0.0.1:5000": false,
  "[::2]": false,
};
for (const [host, expected] of Object.entries(hosts)) {
  test(`${host} is ${expected ? "" : "not "}this machine alone`, () => assert.equal(isLoopback(host), expected));
}

const failing = (code: string): Error => Object.assign(new Error(code), { code });

function sending(...answers: (number | Error)[]): { send: RegistrySend; asked: string[] } {
  const asked: string[] = [];
  const send: RegistrySend = async ({ url }) => {
    asked.push(url.href);
    const answer = answers.shift() ?? 200;
    if (answer instanceof Error) throw answer;
    return { status: answer, headers: {}, body: Readable.from([]) as IncomingMessage, url };
  };
  return { send, asked };
}

const rows: {
  why: string;
  registry: string;
  insecure?: string[];
  answers?: (number | Error)[];
  base: string;
  asked: number;
}[] = [
  { why: "HTTPS everywhere, without asking", registry: "r.example.org", base: "https", asked: 0 },
  { why: "loopback with TLS", registry: "127.0.0.1:1", answers: [200], base: "https", asked: 1 },
  { why: "any answer is TLS", registry: "127.0.0.1:1", answers: [401], base: "https", asked: 1 },
  { why: "loopback without TLS", registry: "127.0.0.1:1", answers: [failing("EPROTO")], base: "http", asked: 1 },
  { why: "or hangs up", registry: "127.0.0.1:1", answers: [failing("ECONNRESET")], base: "http", asked: 1 },
  {
    why: "or answers in plain text",
    registry: "localhost:1",
    answers: [failing("ERR_SSL_WRONG_VERSION_NUMBER")],
    base: "http",
    asked: 1,
  },
  {
    why: "one that users call insecure",
    registry: "r.local:5000",
    insecure: ["r.local:5000"],
    answers: [failing("EPROTO")],
    base: "http",
    asked: 1,
  },
  {
    why: "an unreachable registry is reported by the next request",
    registry: "127.0.0.1:1",
    answers: [failing("ECONNREFUSED")],
    base: "http",
    asked: 1,
  },
];
for (const { why, registry, insecure = [], answers = [], base, asked } of rows) {
  test(`how to reach a registry: ${why}`, async () => {
    const made = sending(...answers);
    assert.equal(await createSchemes(made.send, insecure)(registry), `${base}://${registry}`);
    assert.equal(made.asked.length, asked);
  });
}

test("the scheme of a registry is remembered; a failed probe is repeated", async () => {
  const made = sending(failing("ECONNREFUSED"), failing("EPROTO"));
  const schemes = createSchemes(made.send, []);
  for (let time = 0; time < 4; time++) await schemes("127.0.0.1:1");
  assert.equal(made.asked.length, 2);
});

test("the schemes of the last thousand registries are remembered", async () => {
  const made = sending();
  const schemes = createSchemes(made.send, []);
  for (let at = 0; at <= 1000; at++) await schemes(`r${at}.localhost:5000`);
  assert.equal(made.asked.length, 1001);
  await schemes("r1.localhost:5000");
  assert.equal(made.asked.length, 1001);
  await schemes("r0.localhost:5000");
  assert.equal(made.asked.length, 1002, "the oldest made room");
});

test("a registry that hangs is reported at once and probed again next time", async () => {
  const hanging = Object.assign(new Error("TLS handshake timed out after 10s"), { code: "ETIMEDOUT" });
  const made = sending(hanging, hanging, failing("EPROTO"));
  const schemes = createSchemes(made.send, ["r.local:5000"]);
  for (const registry of ["127.0.0.1:1", "r.local:5000"]) {
    await assert.rejects(schemes(registry), (error: Error) => {
      assert.ok(isOciError(error, "UNREACHABLE"));
      assert.match(
        error.message,
        new RegExp(`^cannot reach ${registry}: TLS handshake timed out after 10s \\(GET /v2/\\); check`),
      );
      return true;
    });
  }
  assert.equal(await schemes("127.0.0.1:1"), "http://127.0.0.1:1");
});
