// SPDX-License-Identifier: Apache-2.0

export { simulatorRules } from "./kinds.ts";
export { startWorkloadSimulator } from "./start-simulator.ts";
