"""Translation of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from protocol.messages import configuration as m

DEFAULT_SOURCE = 5


def describe_configs(request: KafkaRequest) -> m.DescribeConfigsRequest:
    """Version 0 has no synonyms; versions up to 2 have no documentation."""
    return m.DescribeConfigsRequest(
        [
            m.DescribedResourceName(
                one.resource_type,
                one.resource_name,
                None if one.configuration_keys is None else list(one.configuration_keys),
            )
            for one in request.body.resources
        ],
        bool(request.body.include_synonyms),
        bool(request.body.include_documentation),
    )


def describe_configs_answer(request: KafkaRequest, answer: m.DescribeConfigsResponse) -> Fields:
    results = [
        {
            "error_code": one.error,
            "error_message": one.message or None,
            "resource_type": one.kind,
            "resource_name": one.name,
            "configs": [_described(request, setting) for setting in one.settings],
        }
        for one in answer.resources
    ]
    return {"results": results}


def _described(request: KafkaRequest, setting: m.DescribedSetting) -> Fields:
    """Version 0 has only the flag `is_default`."""
    return {
        **fields_of(setting),
        "is_default": setting.source == DEFAULT_SOURCE,
        "synonyms": [{"name": one.name, "value": one.value, "source": one.source} for one in setting.synonyms],
        "config_type": setting.kind,
        "documentation": setting.documentation,
    }


def fields_of(setting: m.DescribedSetting) -> Fields:
    """Fields of a setting that both DescribeConfigs and CreateTopics return."""
    return {
        "name": setting.name,
        "value": setting.value,
        "read_only": setting.read_only,
        "config_source": setting.source,
        "is_sensitive": setting.sensitive,
    }


def alter_configs(request: KafkaRequest) -> m.AlterConfigsRequest:
    return m.AlterConfigsRequest(
        [
            m.AlteredResource(
                one.resource_type, one.resource_name, [m.AlteredSetting(each.name, each.value) for each in one.configs]
            )
            for one in request.body.resources
        ],
        bool(request.body.validate_only),
    )


def incremental_alter_configs(request: KafkaRequest) -> m.IncrementalAlterConfigsRequest:
    return m.IncrementalAlterConfigsRequest(
        [
            m.AlteredResource(
                one.resource_type,
                one.resource_name,
                [m.AlteredSetting(each.name, each.value, each.config_operation) for each in one.configs],
            )
            for one in request.body.resources
        ],
        bool(request.body.validate_only),
    )


def altered_answer(request: KafkaRequest, answer: m.AlterConfigsResponse | m.IncrementalAlterConfigsResponse) -> Fields:
    responses = [
        {
            "error_code": one.error,
            "error_message": one.message or None,
            "resource_type": one.kind,
            "resource_name": one.name,
        }
        for one in answer.resources
    ]
    return {"responses": responses}
