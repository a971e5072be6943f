// SPDX-License-Identifier: Apache-2.0
// Functions that are down, slow, dying, or something else altogether. Each harms the composite resources that need it and
// no other, deletes nothing, is reported with advice, and recovers as soon as the function is back.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type FunctionHandler,
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { freePort } from "../../../tools/peers/free-port.ts";
import { purlinFunction } from "../../../tools/peers/function-commands.ts";
import { startFunction } from "../../../tools/peers/function-process.ts";
import { type CertificateFiles, createCertificateFiles } from "../../interop/certificate-files.ts";
import { conditionOf, eventually, functionAt, type Plane, startPlane } from "../harness/plane.ts";
import { applyCompositions, compositionOf, modernDefinition, namespaceOf } from "./definitions.ts";
import { serveGrpc, serveSockets } from "./raw-servers.ts";

const group = "unreachable.example.org";
const type = { apiVersion: `${group}/v1`, kind: "Job" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const namespace = "work";
const deadlineMs = 5000;

interface Row {
  readonly reason: string;
  /** What listens where the function did; nothing when it is down. */
  readonly serve?: (port: number) => Promise<AsyncDisposable>;
  /** What the Synced condition says after the words that all have in common. */
  readonly want: RegExp;
}

const unreachable = "code = DeadlineExceeded desc = function unreachable for pipeline step .* before its deadline: ";
const advice = ": check that the function runs and can be reached there$";

let certificates: CertificateFiles;
let givenUp = 0;

const rows: Readonly<Record<string, Row>> = {
  down: {
    reason: "connection refused",
    want: new RegExp(`${unreachable}connect ECONNREFUSED 127\\.0\\.0\\.1:\\d+${advice}`),
  },
  slow: {
    reason: "it takes longer than the deadline of a reconcile, and its call is cancelled",
    serve: (port) =>
      serveHere(port, async (req, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        givenUp++;
        return response.to(req);
      }),
    want: /code = DeadlineExceeded desc = function did not respond to pipeline step "work" before its deadline$/,
  },
  dying: {
    reason: "its process ends in the middle of the call",
    serve: (port) => startFunction({ ...purlinFunction(program("crashing.ts"), { insecure: true }), port }),
    // Tried again, it is no longer there.
    want: new RegExp(`code = Unavailable desc = Connection dropped$|${unreachable}connect ECONNREFUSED.*${advice}`),
  },
  garbage: {
    reason: "its response is not a message",
    serve: (port) => serveGrpc(port, { message: Buffer.from("not a message") }),
    want: /code = Internal desc = the function's answer is not a RunFunctionResponse: /,
  },
  silent: {
    reason: "it ends the call without an answer",
    serve: (port) => serveGrpc(port, { status: 0 }),
    want: /code = Internal desc = the function says OK and sends no whole answer$/,
  },
  refusing: {
    reason: "it serves gRPC and returns an error of its own",
    serve: (port) => serveGrpc(port, { status: 7 }),
    want: /code = PermissionDenied desc = by hand$/,
  },
  "another-service": {
    reason: "it serves gRPC but is not a function",
    serve: (port) => serveGrpc(port, { status: 12 }),
    want: /code = Unimplemented desc = by hand$/,
  },
  "no-grpc": {
    reason: "it serves another protocol",
    serve: (port) => serveSockets(port, (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    want: new RegExp(`${unreachable}Protocol error${advice}`),
  },
  mute: {
    reason: "it accepts connections and sends nothing",
    serve: (port) => serveSockets(port, () => {}),
    want: new RegExp(
      `${unreachable}connected, but no HTTP/2 response${advice}|did not respond to pipeline step "work"`,
    ),
  },
  secured: {
    reason: "it expects the certificate of a client, and is called in plaintext",
    serve: (port) => serveHere(port, fine, { insecure: false, tlsCertsDir: certificates.server }),
    want: new RegExp(`${unreachable}it closed the connection at once: does it expect TLS\\?$`),
  },
};

const program = (name: string): string => join(import.meta.dirname, "programs", name);

/** One ConfigMap with the text of the spec. */
function fine(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const map = { ...configMap, data: { text: xr.getString("spec.text") } };
  response.setDesiredComposedResource(rsp, "map", map, { ready: true });
  response.conditionTrue(rsp, "Laid", "Done");
  return rsp;
}

function serveHere(port: number, handler: FunctionHandler, more: object = {}): ReturnType<typeof start> {
  const options = { address: `127.0.0.1:${port}`, insecure: true, metricsAddress: "", log: nopLogger };
  return start(handler, { ...options, ...more });
}

/** What listens for each row, and where. */
const places = new Map<string, { readonly port: number; listening: AsyncDisposable | undefined }>();

/** Replaces what listens for a row. */
async function replace(name: string, serve: Row["serve"]): Promise<void> {
  const place = places.get(name) ?? assert.fail(name);
  await place.listening?.[Symbol.asyncDispose]();
  place.listening = await serve?.(place.port);
}

let plane: Plane;
const mapsBefore = new Map<string, KubeObject>();

const job = (name: string, text: string): KubeObject =>
  ({
    ...type,
    metadata: { namespace, name },
    spec: { text, crossplane: { compositionRef: { name } } },
  }) as unknown as KubeObject;

const mapOf = async (name: string): Promise<KubeObject> => {
  const labelSelector = `crossplane.io/composite=${name}`;
  const { items } = await plane.users.list(configMap, { namespace, labelSelector });
  return items[0] ?? assert.fail(`${name} has no ConfigMap`);
};
const textOf = async (name: string): Promise<unknown> =>
  ((await mapOf(name))["data"] as { readonly text?: string } | undefined)?.text;
const isReady = (one: KubeObject): boolean =>
  conditionOf(one, "Ready")?.status === "True" && conditionOf(one, "Synced")?.status === "True";
const until = (name: string, what: string, isWanted: (one: KubeObject) => boolean): Promise<KubeObject> =>
  plane.until(`${name} ${what}`, type, { namespace, name }, isWanted);
const hasFailed = (one: KubeObject): boolean => conditionOf(one, "Synced")?.status === "False";

before(async () => {
  certificates = createCertificateFiles();
  plane = await startPlane({ functions: {}, settings: { compositeDeadlineMs: deadlineMs } });
  await plane.apply(namespaceOf(namespace), modernDefinition({ kind: "Job", group }));
  for (const name of [...Object.keys(rows), "bystander"]) {
    const port = await freePort();
    const listening = await serveHere(port, fine);
    places.set(name, { port, listening });
    await plane.apply(functionAt(name, listening.address));
    await applyCompositions(plane, compositionOf(name, type, [{ step: "work", functionRef: { name } }]));
    await plane.apply(job(name, "first"));
  }
  for (const name of places.keys()) {
    await until(name, "is ready", isReady);
    mapsBefore.set(name, await mapOf(name));
  }
  for (const [name, { serve }] of Object.entries(rows)) await replace(name, serve);
  for (const name of Object.keys(rows)) await plane.apply(job(name, "second"));
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  for (const { listening } of places.values()) await listening?.[Symbol.asyncDispose]();
  certificates?.[Symbol.dispose]();
});

describe("while a function cannot do its work", () => {
  for (const [name, { reason, want }] of Object.entries(rows)) {
    test(`${name}: ${reason}`, async () => {
      const failed = await until(name, "says so", hasFailed);
      const { message = "" } = conditionOf(failed, "Synced") ?? {};
      const common = `cannot compose resources: cannot run Composition pipeline step "work": cannot run Function "${name}": rpc error: `;
      assert.equal(message.slice(0, common.length), common);
      assert.match(message.slice(common.length), want);
      assert.deepEqual(await mapOf(name), mapsBefore.get(name), "nothing that was made has changed");
      const laid = conditionOf(failed, "Laid");
      assert.deepEqual([laid?.status, laid?.reason], ["Unknown", "FatalError"], "its status is unknown");
      assert.equal(conditionOf(failed, "Ready")?.status, "True", "ready resources stay ready");
    });
  }

  test("other composite resources are not affected", async () => {
    await plane.apply(job("bystander", "second"));
    await plane.until(
      "it continues",
      configMap,
      { namespace, name: (await mapOf("bystander")).metadata.name ?? "" },
      (map) => {
        return (map["data"] as { readonly text: string }).text === "second";
      },
    );
  });

  test("the call of a slow function is cancelled", async () => {
    await eventually("the function sees the cancellation", async () => givenUp > 0);
  });
});

describe("when the function is back", () => {
  before(async () => {
    for (const name of Object.keys(rows)) await replace(name, (port) => serveHere(port, fine));
  });

  for (const name of Object.keys(rows)) {
    test(`${name} is forgotten by itself`, async () => {
      await until(name, "is ready", isReady);
      assert.equal(await textOf(name), "second");
      await until(name, "its function reports it", (one) => conditionOf(one, "Laid")?.status === "True");
      assert.equal((await mapOf(name)).metadata.uid, mapsBefore.get(name)?.metadata.uid);
    });
  }
});
