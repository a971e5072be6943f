// SPDX-License-Identifier: Apache-2.0
// Mutual TLS with certificates made by Go as Crossplane makes them. Authority and leaves have one subject and no key identifiers in
// leaves: Go and BoringSSL accept them, OpenSSL takes a leaf for self-signed.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { purlinFunction, pythonFunction, typescriptFunction } from "../../../tools/peers/function-commands.ts";
import { type FunctionCommand, type FunctionProcess, startFunction } from "../../../tools/peers/function-process.ts";
import { goFunction, goFunctionIn } from "../../../tools/peers/go-function.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type Caller, command, go, node, python, runner } from "./callers.ts";
import { type CrossplaneFiles, createCrossplaneFiles, type Flaw } from "./crossplane-files.ts";

const fileOf = (name: string): string => join(import.meta.dirname, "..", "functions", name);

const functions: Record<string, (certsDir: string) => FunctionCommand> = {
  Go: (certsDir) => ({
    program: goFunctionIn(installed(goFunction, cacheDirectory)),
    args: (address) => ["--address", address, "--metrics-address", "127.0.0.1:0", "--tls-certs-dir", certsDir],
  }),
  "the public Python SDK": (certsDir) => pythonFunction(fileOf("echo.py"), { certsDir }),
  "the public TypeScript SDK": (certsDir) => typescriptFunction(fileOf("storefront.mjs"), { certsDir }),
  "our SDK": (certsDir) => purlinFunction(fileOf("echo.ts"), { certsDir }),
};
const ours = functions["our SDK"] as (certsDir: string) => FunctionCommand;

const notTrusted = /self-signed certificate, or signed by an authority that is not trusted/;

let files: CrossplaneFiles;
before(() => {
  files = createCrossplaneFiles();
});
after(() => files?.[Symbol.dispose]());

test("the certificates are such that OpenSSL takes leaves for self-signed", () => {
  const read = (name: string): X509Certificate => new X509Certificate(readFileSync(join(files.server(), name)));
  const [leaf, authority] = [read("tls.crt"), read("ca.crt")];
  assert.deepEqual([leaf.subject, leaf.issuer], [authority.subject, authority.subject]);
  assert.deepEqual([leaf.serialNumber, authority.serialNumber], ["07E6", "07E6"]);
  const keyIdentifiers = ["0603551d0e", "0603551d23"].map((oid) => leaf.raw.includes(Buffer.from(oid, "hex")));
  assert.deepEqual(keyIdentifiers, [false, false]);
  assert.match(readFileSync(join(files.server(), "tls.key"), "utf8"), /^-----BEGIN RSA PRIVATE KEY-----/);
});

const foreignClients: Record<string, Caller> = { Go: go, Python: python, Node: node };
const ourClients: Record<string, Caller> = { "our runner": runner, "purlin function call": command };

describe("a function on our SDK", () => {
  let running: FunctionProcess;
  before(async () => {
    running = await startFunction(ours(files.server()));
  });
  after(() => running?.stop());

  for (const [name, call] of Object.entries({ ...foreignClients, ...ourClients })) {
    test(`serves a client in ${name} with a certificate of Crossplane`, async () => {
      const { answered, text } = await call(files.client(), running.port);
      assert.ok(answered, text);
    });
  }

  for (const [name, call] of Object.entries({ ...foreignClients, "purlin function call": command })) {
    test(`serves a client in ${name} with a certificate that we issued with Crossplane's authority`, async () => {
      const { answered, text } = await call(files.ourClient, running.port);
      assert.ok(answered, text);
    });
  }

  const codes: Partial<Record<Flaw, string>> = {
    "-foreign": "DEPTH_ZERO_SELF_SIGNED_CERT",
    "-expired": "CERT_HAS_EXPIRED",
    "-wrong-usage": "INVALID_PURPOSE",
  };
  for (const [flaw, code] of Object.entries(codes) as [Flaw, string][]) {
    for (const [name, call] of Object.entries(foreignClients)) {
      test(`refuses a client in ${name} with a certificate ${flaw.slice(1)}, and logs why`, async () => {
        const logged = running.output().length;
        const { answered, text } = await call(files.client(flaw), running.port);
        assert.equal(answered, false, text);
        const why = new RegExp(`"client certificate rejected".*"code":"${code}"`);
        await eventually("the log says why", () => why.test(running.output().slice(logged)));
      });
    }
  }

  test("refuses a client whose certificate was signed by one that is not an authority", async () => {
    await using trusting = await startFunction(ours(files.server("-of-no-authority")));
    const { answered, text } = await node(files.client("-of-no-authority"), trusting.port);
    assert.equal(answered, false, text);
    const why = /"client certificate rejected".*"code":"DEPTH_ZERO_SELF_SIGNED_CERT"/;
    await eventually("the log says why", () => why.test(trusting.output()));
  });
});

for (const [language, start] of Object.entries(functions)) {
  describe(`a function in ${language}`, () => {
    for (const [kind, folder] of Object.entries({
      "a certificate of Crossplane": () => files.server(),
      "a certificate that we issued with Crossplane's authority": () => files.ourServer,
    })) {
      test(`with ${kind} is called by our clients, with either kind of certificate of their own`, async () => {
        await using running = await startFunction(start(folder()));
        for (const [name, call] of Object.entries(ourClients)) {
          for (const client of [files.client(), files.ourClient]) {
            const { answered, text } = await call(client, running.port);
            assert.ok(answered, `${name}: ${text}`);
          }
        }
      });
    }

    test("with a certificate of another authority with the same subject is refused by our clients", async () => {
      await using running = await startFunction(start(files.server("-foreign")));
      await assertRefused(running, files.client(), notTrusted);
    });
  });
}

// The client verifies here, so one server is enough.
describe("a function in Go is refused by our clients", () => {
  const inGo = functions["Go"] as (certsDir: string) => FunctionCommand;
  const refused: Partial<Record<Flaw, RegExp>> = {
    "-expired": /certificate has expired/,
    "-wrong-usage": /unsuitable certificate purpose/,
    "-wrong-name": /Hostname\/IP does not match certificate's altnames: Host: localhost\./,
  };
  for (const [flaw, says] of Object.entries(refused) as [Flaw, RegExp][]) {
    test(`with a certificate ${flaw.slice(1)}`, async () => {
      await using running = await startFunction(inGo(files.server(flaw)));
      await assertRefused(running, files.client(), says);
    });
  }

  test("with a certificate signed by one that is not an authority", async () => {
    await using running = await startFunction(inGo(files.server("-of-no-authority")));
    await assertRefused(running, files.client("-of-no-authority"), notTrusted);
  });
});

async function assertRefused({ port }: FunctionProcess, folder: string, says: RegExp): Promise<void> {
  const outcomes = Object.entries(ourClients).map(async ([name, call]) => {
    const { answered, text } = await call(folder, port);
    assert.equal(answered, false, name);
    assert.match(text, says, name);
  });
  await Promise.all(outcomes);
}
