"""DescribeConfigs at a KRaft broker.

Topics' own settings are those of its image of the metadata log.

Source: KRaftMetadataCache.config, ConfigHelper.
"""

from collections.abc import Callable, Mapping

from controller.session_calls import Procedure, Procedures
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.dynamic_settings import DynamicSettings
from emulator.machines.node.setting_administration import SettingAdministration
from emulator.settings.setting import Value


class ImageSettings(SettingAdministration):
    """Handler of DescribeConfigs. `own`: a topic's own settings, None: it has none."""

    def __init__(
        self,
        context: BrokerContext,
        metadata: MetadataCache,
        dynamic: DynamicSettings,
        file: Mapping[str, Value],
        procedures: Procedures,
        own: Callable[[str], Mapping[str, str] | None],
    ) -> None:
        super().__init__(context, metadata, dynamic, file, procedures)
        self._own = own

    def _topic_settings(self, topic: str) -> Procedure[Mapping[str, str] | None]:
        yield from ()
        return self._own(topic)
