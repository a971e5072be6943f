// SPDX-License-Identifier: Apache-2.0
// One suite of what our client promises, over both transports and against both servers.
import { after, before } from "node:test";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { testClientContract } from "@purlin/kube-client/contract";
import { startTwoServers, type TwoServers } from "./two-servers.ts";

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

const admin = { name: "admin", groups: [mastersGroup] };

const forget = async (): Promise<void> => servers.apiServer.compact();

testClientContract("direct calls into the embedded server", {
  connect: async () => createKubeClient(createDirectTransport(servers.apiServer.handle, admin)),
  forget,
});
testClientContract("HTTPS to the embedded server", { connect: () => servers.embedded.connect(), forget });
testClientContract("HTTPS to the real server", { connect: () => servers.real.connect() });
