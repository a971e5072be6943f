// SPDX-License-Identifier: Apache-2.0
// One suite of what our client promises, over both transports and against both servers.
import { after, before } from "node:test";
import { MASTERS_GROUP } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { testClientContract } from "@purlin/kube-client/contract";
import { startTwoServers, type TwoServers } from "./two-servers.ts";

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

const admin = { name: "admin", groups: [MASTERS_GROUP] };

testClientContract("direct calls into the embedded server", async () =>
  createKubeClient(createDirectTransport(servers.apiServer.handle, admin)),
);
testClientContract("HTTPS to the embedded server", () => servers.embedded.connect());
testClientContract("HTTPS to the real server", () => servers.real.connect());
