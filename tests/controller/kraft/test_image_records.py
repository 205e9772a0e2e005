"""Records of a snapshot: an image made of them is the image that they were made of."""

import msgspec

from controller.kraft.image_records import image_records
from controller.kraft.metadata_image import MetadataImage
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_codec import decode_metadata_record, encode_metadata_record
from protocol.records.metadata_records import MetadataBatch, NoOpRecord, ProducerIdsRecord
from verification.kraft.controller_world import ControllerWorld

SEEDS = range(1, 4)


def states(image: MetadataImage) -> dict[str, object]:
    """All state of an image, but the offsets at which brokers have registered."""
    at = Offset(-1)
    return {
        "brokers": {one: msgspec.structs.replace(known, registered_at=at) for one, known in image.brokers.items()},
        "topics": image.topics, "names": image.topic_names, "features": image.features,
        "configs": {place: own for place, own in image.configs.items() if own}, "producers": image.next_producer_id,
        "end": image.next_offset, "epoch": image.epoch,
    }  # fmt: skip


def test_a_snapshot_of_any_cluster_is_that_cluster() -> None:
    for seed in SEEDS:
        world = ControllerWorld("4.4", seed)
        world.run()
        image = MetadataImage()
        for batch in world.log.batches[: world.log.committed]:
            image.apply_batch(batch)
        image.apply(ProducerIdsRecord(BrokerId(0), 0, 1000), image.next_offset)
        values = [encode_metadata_record(record) for record in image_records(image)]
        records = tuple(decode_metadata_record(value) for value in values)
        other = MetadataImage()
        other.apply_batch(MetadataBatch(0, 1, LeaderEpoch(9), (NoOpRecord(), *records)))
        other.apply_batch(MetadataBatch(0, image.next_offset, image.epoch, records, is_snapshot=True))
        assert states(other) == states(image)
        assert records and other.brokers and other.topics
