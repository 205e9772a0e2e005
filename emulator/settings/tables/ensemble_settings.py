"""The session service: ZooKeeper's own settings, as in zoo.cfg.

Default limits of sessions count in ticks.
"""

from emulator.settings.bearing import ALL, Group, modelled, not_modelled, set_here, unless, without_bearing
from emulator.settings.setting import ENSEMBLE, boolean, integer, listing, long, text

GROUPS: tuple[Group, ...] = (
    modelled(
        "Ticks and sessions",
        integer("tickTime", 1000, "ms", low=1),
        integer("initLimit", 10, "ticks", low=1),
        integer("syncLimit", 4, "ticks", low=1),
        integer("minSessionTimeout", -1, "ms", low=-1),
        integer("maxSessionTimeout", -1, "ms", low=-1),
        scope=ENSEMBLE,
    ),
    not_modelled(
        "Durability and votes",
        "every server votes with the same weight, and syncs each transaction before it votes for it",
        ALL,
        (text("forceSync", "yes", words=("yes", "no")), unless("yes")),
        (text("peerType", "participant", words=("participant", "observer")), unless("participant")),
        (text("leaderServes", "yes", words=("yes", "no")), unless("yes")),
        scope=ENSEMBLE,
    ),
    set_here(
        "Servers, addresses, directories",
        "the topology sets them",
        text("dataDir"),
        text("dataLogDir"),
        integer("clientPort", 2181),
        text("clientPortAddress"),
        integer("secureClientPort"),
        boolean("quorumListenOnAllIPs", False),
        boolean("standaloneEnabled", True),
        text("dynamicConfigFile"),
        scope=ENSEMBLE,
    ),
    without_bearing(
        "Housekeeping",
        "snapshots, buffers, metrics, security: no vote and no session by them",
        integer("maxClientCnxns", 60, low=0),
        integer("snapCount", 100_000),
        integer("autopurge.purgeInterval", 0, "h", low=0),
        integer("autopurge.snapRetainCount", 3, low=3),
        integer("globalOutstandingLimit", 1000),
        integer("preAllocSize", 65_536),
        integer("cnxTimeout", 5),
        integer("electionAlg", 3),
        long("fsync.warningthresholdms", 1000),
        boolean("syncEnabled", True),
        boolean("reconfigEnabled", False),
        boolean("extendedTypesEnabled", False),
        boolean("sslQuorum", False),
        text("skipACL", "no", words=("yes", "no")),
        text("4lw.commands.whitelist"),
        boolean("admin.enableServer", True),
        integer("admin.serverPort", 8080),
        text("admin.serverAddress"),
        text("admin.commandURL"),
        text("metricsProvider.className"),
        listing("authProvider"),
        text("requireClientAuthScheme"),
        text("jaasLoginRenew"),
        scope=ENSEMBLE,
    ),
)
