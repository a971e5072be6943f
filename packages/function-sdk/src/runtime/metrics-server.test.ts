// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { runFunctionPaths } from "@purlin/function-protocol";
import { RawClient } from "../../test/raw-client.ts";
import { newLogger, nopLogger } from "../logging/new-logger.ts";
import type { FunctionHandler, ServeOptions } from "./serve-options.ts";
import { type RunningFunction, start } from "./start.ts";

async function serving(t: TestContext, handler: FunctionHandler, options: ServeOptions = {}): Promise<RunningFunction> {
  const defaults = { address: "127.0.0.1:0", insecure: true, metricsAddress: "127.0.0.1:0", log: nopLogger };
  const running = await start(handler, { ...defaults, ...options });
  t.after(() => running.stop(0));
  return running;
}

async function scrape(
  { metricsAddress }: RunningFunction,
  path = "/metrics",
): Promise<{ status: number; text: string; type: string }> {
  const answer = await fetch(`http://${metricsAddress}${path}`);
  return { status: answer.status, text: await answer.text(), type: answer.headers.get("content-type") ?? "" };
}

/** The value of a metric, by name and the labels it must have. */
function metricOf(text: string, name: string, ...labels: readonly string[]): number | undefined {
  const line = text
    .split("\n")
    .find((one) => one.startsWith(`${name}{`) && labels.every((label) => one.includes(label)));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

test("calls are counted under the names Go functions use", async (t) => {
  const running = await serving(
    t,
    (req, ctx) => {
      if (req.input !== undefined) throw new Error("boom");
      return ctx.to(req);
    },
    { onHandlerError: "status" },
  );
  const client = new RawClient(t, running.address);
  const input = Buffer.from("2200", "hex");
  for (const [path, bytes] of [
    [runFunctionPaths.v1, Buffer.alloc(0)],
    [runFunctionPaths.v1, Buffer.alloc(0)],
    [runFunctionPaths.v1, input],
    [runFunctionPaths.v1, Buffer.from("0a05", "hex")],
    [runFunctionPaths.v1beta1, Buffer.alloc(0)],
  ] as const) {
    await client.call(path, bytes).catch(() => undefined);
  }
  const { status, text, type } = await scrape(running);
  assert.equal(status, 200);
  assert.match(type, /^text\/plain/);
  const v1 = 'grpc_service="apiextensions.fn.proto.v1.FunctionRunnerService"';
  const v1beta1 = 'grpc_service="apiextensions.fn.proto.v1beta1.FunctionRunnerService"';
  assert.equal(metricOf(text, "grpc_server_started_total", v1, 'grpc_type="unary"', 'grpc_method="RunFunction"'), 4);
  assert.equal(metricOf(text, "grpc_server_msg_received_total", v1), 4);
  assert.equal(metricOf(text, "grpc_server_msg_sent_total", v1), 2);
  assert.equal(metricOf(text, "grpc_server_handled_total", v1, 'grpc_code="OK"'), 2);
  assert.equal(metricOf(text, "grpc_server_handled_total", v1, 'grpc_code="Unknown"'), 1);
  assert.equal(metricOf(text, "grpc_server_handled_total", v1, 'grpc_code="Internal"'), 1);
  assert.equal(metricOf(text, "grpc_server_started_total", v1beta1), 1);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
  assert.match(text, /^process_cpu_seconds_total [\d.]+$/m);
  assert.equal(
    metricOf((await scrape(running)).text, "grpc_server_started_total", v1),
    4,
    "asking counts nothing twice",
  );
});

test("only /metrics is served; an author's own metrics are shown with ours", async (t) => {
  let broken = false;
  const metricsSource = {
    metrics: async () => {
      if (broken) throw new Error("no registry");
      return "# TYPE mine counter\nmine 3\n";
    },
  };
  const running = await serving(t, (req, ctx) => ctx.to(req), { metricsSource });
  assert.equal((await scrape(running, "/")).status, 404);
  assert.match((await scrape(running)).text, /^mine 3$/m);
  broken = true;
  const { status, text } = await scrape(running);
  assert.deepEqual([status, text], [500, "cannot collect metrics: no registry\n"]);
});

test("a function is served without metrics when their port is taken", async (t) => {
  const occupied = createServer().listen(0, "127.0.0.1");
  t.after(() => occupied.close());
  await once(occupied, "listening");
  const { port } = occupied.address() as { port: number };
  const lines: string[] = [];
  const log = newLogger({ write: (line) => lines.push(line) });
  const running = await serving(t, (req, ctx) => ctx.to(req), { metricsAddress: `127.0.0.1:${port}`, log });
  assert.equal(running.metricsAddress, undefined);
  assert.match(lines[0] ?? "", new RegExp(`"level":"error".*cannot serve metrics.*${port}`));
  await new RawClient(t, running.address).call(runFunctionPaths.v1, Buffer.alloc(0));
});

test("an empty address means no metrics", async (t) => {
  const running = await serving(t, (req, ctx) => ctx.to(req), { metricsAddress: "" });
  assert.equal(running.metricsAddress, undefined);
});
