// SPDX-License-Identifier: Apache-2.0
// Clients that may not call a function made with our SDK: by grpcurl (Go's TLS) and by a bare TLS socket (OpenSSL).
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type ConnectionOptions, connect } from "node:tls";
import { purlinFunction } from "../../tools/peers/function-commands.ts";
import { type FunctionProcess, startFunction } from "../../tools/peers/function-process.ts";
import { type CertificateFiles, createCertificateFiles } from "./certificate-files.ts";
import { grpcurl, withCertificates } from "./grpcurl.ts";

let certificates: CertificateFiles;
let running: FunctionProcess;

before(async () => {
  certificates = createCertificateFiles();
  const file = join(import.meta.dirname, "functions", "storefront.ts");
  running = await startFunction(purlinFunction(file, { certsDir: certificates.server }));
});

after(async () => {
  await running?.stop();
  certificates?.[Symbol.dispose]();
});

const runFunction = "apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

const callers: Record<string, () => string[]> = {
  "without a certificate": () => ["-cacert", join(certificates.server, "ca.crt")],
  "with a certificate of another authority": () => withCertificates(certificates.stranger),
  "with a certificate that is only good for servers": () => withCertificates(certificates.wrongUsage),
  "without TLS": () => ["-plaintext"],
};

describe("grpcurl is refused", () => {
  for (const [reason, flags] of Object.entries(callers)) {
    for (const words of [["list"], [runFunction], ["grpc.health.v1.Health/Check"]]) {
      test(`${reason}: ${words[0]}`, async () => {
        const { code, stdout, stderr } = await grpcurl(...flags(), `localhost:${running.port}`, ...words);
        assert.notEqual(code, 0, stdout);
        assert.equal(stdout, "");
        assert.match(stderr, /^Failed to dial target host .*(tls: certificate required|connection reset|EOF)/);
      });
    }
  }

  test("and the same call with the right certificate is answered", async () => {
    const flags = withCertificates(certificates.client);
    const { code, stderr } = await grpcurl(...flags, `localhost:${running.port}`, "grpc.health.v1.Health/Check");
    assert.equal(code, 0, stderr);
  });
});

interface RawOutcome {
  /** How many bytes came back after the handshake. */
  readonly received: number;
  /** The error the client met, or "closed" when the server just hung up. */
  readonly end: string;
}

/** Connects, sends the HTTP/2 preface, and waits until the other side closes the connection. */
async function rawClient(options: ConnectionOptions): Promise<RawOutcome> {
  const socket = connect({
    port: running.port,
    host: "127.0.0.1",
    servername: "localhost",
    ALPNProtocols: ["h2"],
    ...options,
  });
  let received = 0;
  let end = "closed";
  socket.on("data", (chunk) => {
    received += chunk.length;
  });
  socket.on("error", ({ message }) => {
    end = message;
  });
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { received, end };
}

const read = (directory: string, name: string): Buffer => readFileSync(join(directory, name));
const identity = (directory: string): ConnectionOptions => ({
  ca: read(directory, "ca.crt"),
  cert: read(directory, "tls.crt"),
  key: read(directory, "tls.key"),
});

const rawClients: Record<string, { readonly options: () => ConnectionOptions; readonly end: RegExp }> = {
  "TLS 1.3 without a certificate": {
    options: () => ({ ca: read(certificates.server, "ca.crt"), minVersion: "TLSv1.3" }),
    end: /^closed$|disconnected|ECONNRESET/,
  },
  "TLS 1.2 without a certificate": {
    options: () => ({ ca: read(certificates.server, "ca.crt"), maxVersion: "TLSv1.2" }),
    end: /^closed$|disconnected|ECONNRESET/,
  },
  "TLS 1.3 with a certificate of another authority": {
    options: () => ({ ...identity(certificates.stranger), minVersion: "TLSv1.3" }),
    end: /^closed$|disconnected|ECONNRESET|alert unknown ca/,
  },
  "TLS 1.2 with a certificate of another authority": {
    options: () => ({ ...identity(certificates.stranger), maxVersion: "TLSv1.2" }),
    end: /^closed$|disconnected|ECONNRESET|alert unknown ca/,
  },
  "the right certificate over TLS 1.1": {
    options: () => ({
      ...identity(certificates.client),
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "ALL:@SECLEVEL=0",
    }),
    end: /alert protocol version/,
  },
};

describe("a bare TLS client is refused", () => {
  for (const [reason, { options, end }] of Object.entries(rawClients)) {
    test(reason, async () => {
      const outcome = await rawClient(options());
      assert.equal(outcome.received, 0, "not a byte of HTTP/2 comes back");
      assert.match(outcome.end, end);
    });
  }
});

test("a bare TLS client with the right certificate is answered", async () => {
  const socket = connect({
    port: running.port,
    host: "127.0.0.1",
    servername: "localhost",
    ALPNProtocols: ["h2"],
    ...identity(certificates.client),
  });
  try {
    await once(socket, "secureConnect");
    assert.equal(socket.authorized, true);
    assert.equal(socket.alpnProtocol, "h2");
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    const [settings] = (await once(socket, "data")) as [Buffer];
    assert.equal(settings[3], 4, "the first frame of HTTP/2 is SETTINGS");
  } finally {
    socket.destroy();
  }
});
