// SPDX-License-Identifier: Apache-2.0
import { type Server, type ServerWritableStream, type sendUnaryData, status } from "@grpc/grpc-js";
import { create, health, serviceNames } from "@purlin/function-protocol";
import { messageMethod } from "./grpc-method.ts";

const { HealthCheckRequest, HealthCheckResponse, ServingStatus } = health;

/** The name of the service. */
export const healthServiceName = "grpc.health.v1.Health";

/** The whole server, and the services whose health may be asked for. */
const known = new Set(["", serviceNames.v1, serviceNames.v1beta1]);

type Watcher = ServerWritableStream<health.HealthCheckRequest, health.HealthCheckResponse>;

/** Answers whether the function serves, once or for as long as the caller watches. */
export class HealthService {
  readonly #watchers = new Set<Watcher>();
  #serving = true;

  /** Adds the service to a server. */
  register(server: Server): void {
    const types = { request: HealthCheckRequest, response: HealthCheckResponse };
    const service = {
      check: messageMethod(`/${healthServiceName}/Check`, types),
      watch: messageMethod(`/${healthServiceName}/Watch`, { ...types, responseStream: true }),
    };
    server.addService(service, {
      check: (call: { request: health.HealthCheckRequest }, callback: sendUnaryData<health.HealthCheckResponse>) =>
        this.#check(call.request.service, callback),
      watch: (call: Watcher) => this.#watch(call),
    });
  }

  /** Says whether the function serves, to watchers as well. */
  setServing(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const watcher of this.#watchers) watcher.write(this.#answer(watcher.request.service));
  }

  /** Says that the function no longer serves and lets the watchers go. An open watch would keep its connection open. */
  stop(): void {
    this.setServing(false);
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  #check(service: string, callback: sendUnaryData<health.HealthCheckResponse>): void {
    if (known.has(service)) callback(null, this.#answer(service));
    else callback({ code: status.NOT_FOUND, details: `unknown service ${JSON.stringify(service)}` });
  }

  #watch(call: Watcher): void {
    this.#watchers.add(call);
    call.on("cancelled", () => this.#watchers.delete(call));
    call.write(this.#answer(call.request.service));
  }

  #answer(service: string): health.HealthCheckResponse {
    return create(HealthCheckResponse, { status: this.#statusOf(service) });
  }

  #statusOf(service: string): health.ServingStatus {
    if (!known.has(service)) return ServingStatus.SERVICE_UNKNOWN;
    return this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}
