// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { Buffer } from "node:buffer";
import { type TestContext, test } from "node:test";
import { type ClientReadableStream, status } from "@grpc/grpc-js";
import {
  create,
  decode,
  encode,
  health,
  RunFunctionRequest,
  runFunctionPaths,
  serviceNames,
} from "@purlin/function-protocol";
import { hasCode, RawClient } from "../../test/raw-client.ts";
import { nopLogger } from "../logging/new-logger.ts";
import { newRequest } from "../testing/new-request.ts";
import type { FunctionHandler } from "./serve-options.ts";
import { type RunningFunction, start } from "./start.ts";

const { HealthCheckRequest, HealthCheckResponse, ServingStatus } = health;
const checkPath = "/grpc.health.v1.Health/Check";

async function serving(t: TestContext, handler: FunctionHandler, on = true): Promise<RunningFunction> {
  const options = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger, health: on };
  const running = await start(handler, options);
  t.after(() => running.stop(0));
  return running;
}

const noOp: FunctionHandler = (req, ctx) => ctx.to(req);

async function check(client: RawClient, service = ""): Promise<number> {
  const request = create(HealthCheckRequest, { service });
  return (await client.unary(checkPath, [HealthCheckRequest, request], HealthCheckResponse)).status;
}

/** Watches a service: the statuses as they come. */
function watch(client: RawClient, service = ""): AsyncIterator<number> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const request = encode(HealthCheckRequest, create(HealthCheckRequest, { service }));
  const path = "/grpc.health.v1.Health/Watch";
  const stream: ClientReadableStream<Buffer> = client.client.makeServerStreamRequest(path, asIs, asIs, request);
  return (async function* statuses() {
    for await (const bytes of stream) yield decode(HealthCheckResponse, bytes as Buffer).status;
  })();
}

test("health: serving before, not serving during a shutdown, unreachable after", async (t) => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: release, resolve: finish } = Promise.withResolvers<void>();
  const running = await serving(t, async (req, ctx) => {
    enter();
    await release;
    return ctx.to(req);
  });
  const client = new RawClient(t, running.address);
  for (const service of ["", serviceNames.v1, serviceNames.v1beta1]) {
    assert.equal(await check(client, service), ServingStatus.SERVING, service);
  }
  const statuses = watch(client);
  assert.equal((await statuses.next()).value, ServingStatus.SERVING);
  const inFlight = client.call(runFunctionPaths.v1, encode(RunFunctionRequest, newRequest()));
  await entered;
  const stopped = running.stop(60_000);
  assert.equal((await statuses.next()).value, ServingStatus.NOT_SERVING);
  assert.equal((await statuses.next()).done, true, "a watch does not keep the server up");
  await assert.rejects(check(new RawClient(t, running.address)), hasCode(status.UNAVAILABLE));
  finish();
  await inFlight;
  await stopped;
  await assert.rejects(check(client), hasCode(status.UNAVAILABLE));
});

test("an author can say that the function does not serve for a while", async (t) => {
  const running = await serving(t, noOp);
  const client = new RawClient(t, running.address);
  const statuses = watch(client, serviceNames.v1);
  assert.equal((await statuses.next()).value, ServingStatus.SERVING);
  running.setServing(false);
  running.setServing(false);
  assert.equal((await statuses.next()).value, ServingStatus.NOT_SERVING);
  assert.equal(await check(client), ServingStatus.NOT_SERVING);
  running.setServing(true);
  assert.equal((await statuses.next()).value, ServingStatus.SERVING, "sent once per change");
});

test("an unknown service is NOT_FOUND to a check and SERVICE_UNKNOWN to a watch", async (t) => {
  const client = new RawClient(t, (await serving(t, noOp)).address);
  await assert.rejects(check(client, "other"), hasCode(status.NOT_FOUND));
  assert.equal((await watch(client, "other").next()).value, ServingStatus.SERVICE_UNKNOWN);
});

test("health can be switched off", async (t) => {
  const client = new RawClient(t, (await serving(t, noOp, false)).address);
  await assert.rejects(check(client), hasCode(status.UNIMPLEMENTED));
});
