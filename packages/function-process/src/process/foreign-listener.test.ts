// SPDX-License-Identifier: Apache-2.0
// Another program listens where a function did: it is not called, and gets nothing of the request.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner } from "@purlin/function-runner";
import { createFunctionProcesses, type FunctionProcesses } from "./function-processes.ts";

const callMs = 1_500;
const longestCallMs = 60_000;

type Serve = (processes: FunctionProcesses, onData: (data: Buffer) => void) => Promise<Server>;

const withPair =
  (pairOf: (processes: FunctionProcesses) => Promise<KeyPair>): Serve =>
  async (processes, onData) => {
    const { certPem, keyPem } = await pairOf(processes);
    return createTlsServer({ cert: certPem, key: keyPem, ALPNProtocols: ["h2"] }, (socket) => listenTo(socket, onData));
  };

async function issuedTo(processes: FunctionProcesses, name: string): Promise<KeyPair> {
  const folder = await processes.certificates(name);
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  return { certPem: read("tls.crt"), keyPem: read("tls.key") };
}

function listenTo(socket: Socket, onData: (data: Buffer) => void): void {
  socket.on("error", () => {}).on("data", onData);
}

const subject = {
  commonName: "victim",
  dnsNames: ["localhost"],
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
} as const;

const listeners: Record<string, { readonly serve: Serve; readonly isCalled: boolean; readonly says?: RegExp }> = {
  "the function itself": { serve: withPair((processes) => issuedTo(processes, "victim")), isCalled: true },
  "another function with its own certificate": {
    serve: withPair((processes) => issuedTo(processes, "evil")),
    isCalled: false,
    says: /the certificate is for "evil", not for "victim"/,
  },
  "a revision of the same function": {
    serve: withPair((processes) => issuedTo(processes, "victim-2")),
    isCalled: false,
    says: /the certificate is for "victim-2", not for "victim"/,
  },
  "a program with a certificate of its own making": {
    serve: withPair(async () => createAuthority({ commonName: "victim", dnsNames: ["localhost"] })),
    isCalled: false,
  },
  "a program with a certificate of another authority": {
    serve: withPair(async () => issueCertificate(createAuthority({ commonName: "purlin functions" }), subject)),
    isCalled: false,
  },
  "a program without TLS": { serve: async () => createServer((socket) => socket.end("hello\n")), isCalled: false },
};

for (const [name, { serve, isCalled, says }] of Object.entries(listeners)) {
  test(`a function whose port ${name} has is ${isCalled ? "" : "not "}called`, async () => {
    using folder = tempFolder();
    await using processes = createFunctionProcesses({ directory: folder.path, env: {} });
    let received = 0;
    const server = await serve(processes, (data) => {
      received += data.length;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const runner = createDiallingRunner({ security: processes.security });
    const target = { functionName: "victim", revisionName: "victim", packageRef: "", endpoint, revision: 1 };
    const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "secret" }) });
    const call = (ms: number): Promise<string> =>
      runner.run(target, request, { deadline: Date.now() + ms }).then(
        () => assert.fail("the call succeeds"),
        (error: unknown) => String(error),
      );
    try {
      let problem = "";
      // No connection may be made in time on a busy machine: the next call has more of it.
      for (let ms = callMs; ms < longestCallMs; ms *= 2) {
        problem = await call(ms);
        if ((says ?? /./).test(problem) && received > 0 === isCalled) break;
      }
      assert.match(problem, says ?? /./);
      assert.equal(received > 0, isCalled);
    } finally {
      runner.close();
      server.close();
    }
  });
}
