import { describe, expect, it } from "vitest";
import { installService, type InstallOptions } from "../../../../src/daemon/service/install.ts";
import { serviceWorld, type ServiceWorld } from "../../../helpers/service-world.ts";

function install(world: ServiceWorld, given: Partial<InstallOptions> = {}) {
  return installService(world.host, {
    wanted: undefined,
    station: world.station,
    run_as: undefined,
    cwd: world.home,
    watcher: { dry_run: false, onStep: () => undefined },
    ...given,
  });
}

describe("install for the user's systemd", () => {
  it("copies, writes, enables and starts", async () => {
    const world = serviceWorld("linux");
    const outcome = await install(world);
    expect(outcome.service).toMatchObject({ running: true, enabled: true, problems: [] });
  });
});
