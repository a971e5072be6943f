// SPDX-License-Identifier: Apache-2.0
// Functions that flood a connection of the control plane: with HTTP/2 frames in place of an answer, and with an answer to the readiness
// probe. HTTP/2 limits neither.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { chaosDirectory } from "../../chaos/harness/server-process.ts";
import { holdLog } from "../harness/hold-log.ts";
import { holdLimits } from "../harness/responsive.ts";
import { type AttackedPlane, startAttackedPlane } from "./attacked-plane.ts";
import { floods, startFloodingFunction } from "./flooding-function.ts";
import { expectRefused } from "./refused.ts";

/** Of the whole process. It has about 400 MiB without an attack. */
const mostMebibytes = 700;

let fn: Awaited<ReturnType<typeof startFloodingFunction>>;
let plane: AttackedPlane;

before(async () => {
  fn = await startFloodingFunction();
  plane = await startAttackedPlane(chaosDirectory(), fn.address);
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  await fn?.[Symbol.asyncDispose]();
});

/** What the function answers is not a message. */
const answer = (): { message: Uint8Array } => ({ message: new Uint8Array(0) });

for (const name of Object.keys(floods)) {
  // Node itself refuses some of them.
  const tooMany = /too many (invalid )?HTTP\/2 frames/i;
  const refused = name === "pushes" ? /HTTP\/2 server pushes, which gRPC does not allow$/ : tooMany;
  test(`${name}: the call fails at once, and nothing is composed`, () =>
    expectRefused(plane, name, { answer, refused }));
}

test("memory stays bounded during floods", () => {
  const peak = plane.peakMemory();
  assert.ok(peak < mostMebibytes, `${peak.toFixed(0)} MiB`);
});

const mebibyte = Buffer.alloc(2 ** 20);

/** A function that answers the readiness probe without end, on a free port. */
async function startEndlessFunction(tls: {
  cert: string;
  key: string;
}): Promise<AsyncDisposable & { address: string }> {
  const ignore = (): void => {};
  const server = createSecureServer(tls)
    .on("session", (session) => session.on("error", ignore))
    .on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", ignore);
      stream.respond({ "content-type": "application/grpc" });
      const more = (): void => void stream.write(mebibyte, (error) => error ?? more());
      more();
    });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test("an endless answer to the readiness probe: neither memory nor the event loop is taken", async () => {
  const directory = chaosDirectory();
  const authority = createAuthority({ commonName: "test" });
  const server = issueCertificate(authority, { commonName: "s", dnsNames: ["localhost"], usages: ["server"] });
  const client = issueCertificate(authority, { commonName: "c", usages: ["client"] });
  await using endless = await startEndlessFunction({ cert: server.certPem, key: server.keyPem });
  const files = [authority.certPem, client.certPem, client.keyPem].map((pem, i) => {
    const file = join(directory, `${i}.pem`);
    writeFileSync(file, pem);
    return file;
  });
  const holds = holdLog(directory);
  const probing = [join(import.meta.dirname, "probing.ts"), endless.address, ...files];
  const child = spawn(process.execPath, [...holds.nodeOptions, ...probing], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...holds.env },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  // Loading its modules is not what is measured.
  const loaded = Date.now() + 2_000;
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  assert.ok(Number(output) < 250, `${output} MiB`);
  assert.ok(holds.longestSince(loaded) <= holdLimits().heldMs);
});
