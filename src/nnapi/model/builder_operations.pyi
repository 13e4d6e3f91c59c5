"""The Builder's operations for type checkers and editors. Generated: python -m tools.builder_stub."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from nnapi.codes import FuseCode, PaddingCode
from nnapi.model.builder import Tensor
from nnapi.model.model import Model
from nnapi.model.operand import OperandType

Whole = int | np.integer[Any]
Number = float | np.number[Any]
Out = OperandType | str | Sequence[OperandType | str] | None

class Operations:
    def abs(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ABS: the absolute value of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4)

        Outputs:
            out: of the type of input
        """
    def add(
        self,
        lhs: Tensor | ArrayLike,
        rhs: Tensor | ArrayLike,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ADD: the sum of two tensors, element by element, with broadcasting.

        Operands:
            lhs: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 4) of rank 1 or 2 or 3 or 4
            rhs: of the type of lhs of rank 1 or 2 or 3 or 4
            activation: INT32 (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of lhs
        """
    def argmax(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ARGMAX: the index of the largest element along an axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)

        Outputs:
            out: TENSOR_INT32 (level 3)
        """
    def argmax_pool_2d(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        size: Tensor | ArrayLike | Sequence[int],
        column_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """ARGMAX_POOL_2D: the largest element of each window of an image, and its position in the window.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            strides: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            size: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            column_major: BOOL (level 3)

        Outputs:
            out: of the type of input
            positions: TENSOR_INT32 (level 3)
        """
    def argmin(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ARGMIN: the index of the smallest element along an axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)

        Outputs:
            out: TENSOR_INT32 (level 3)
        """
    def attention(
        self,
        query: Tensor | ArrayLike,
        key: Tensor | ArrayLike,
        value: Tensor | ArrayLike,
        mask: Tensor | ArrayLike | None,
        score_scale: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ATTENTION: softmax(score_scale · query · keyᵀ + mask) · value, for each batch and head.

        Operands:
            query: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 2 or 3 or 4
            key: of the type of query of rank 2 or 3 or 4
            value: of the type of query of rank 2 or 3 or 4
            mask: of the type of query of rank 1 or 2 or 3 or 4 or None
            score_scale: FLOAT32 (level 3)

        Outputs:
            out: of the type of query
        """
    @overload
    def average_pool_2d(
        self,
        input: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """AVERAGE_POOL_2D: the mean of each window of an image.

        Overload explicit_padding: input, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, filter_w, filter_h, activation, layout
        Overload implicit_padding: input, padding_scheme, stride_w, stride_h, filter_w, filter_h, activation, layout

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            pad_left: INT32
            pad_right: INT32
            pad_top: INT32
            pad_bottom: INT32
            stride_w: INT32
            stride_h: INT32
            filter_w: INT32
            filter_h: INT32
            activation: INT32 (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            padding_scheme: INT32

        Outputs:
            out: of the type of input
        """
    @overload
    def average_pool_2d(
        self,
        input: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def average_pool_3d(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        size: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """AVERAGE_POOL_3D: the mean of each window of a volume.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 5
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            strides: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            size: TENSOR_INT32 (level 3) (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    def axis_aligned_bbox_transform(
        self,
        rois: Tensor | ArrayLike,
        deltas: Tensor | ArrayLike,
        batch_index: Tensor | ArrayLike,
        image_info: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """AXIS_ALIGNED_BBOX_TRANSFORM: bounding boxes moved and scaled by deltas, clipped to their images.

        Operands:
            rois: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT16_ASYMM (level 3) of rank 2
            deltas: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED beside TENSOR_QUANT16_ASYMM of rank 2
            batch_index: TENSOR_INT32 (level 3) of rank 1
            image_info: of the type of rois of rank 2

        Outputs:
            boxes: of the type of rois
        """
    def batch_matmul(
        self,
        lhs: Tensor | ArrayLike,
        rhs: Tensor | ArrayLike,
        adj_x: Tensor | bool,
        adj_y: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BATCH_MATMUL: the product of each pair of matrices, either of which may be transposed.

        Operands:
            lhs: TENSOR_FLOAT32 (level 6), TENSOR_FLOAT16 (level 6), TENSOR_INT32 (level 6), TENSOR_QUANT8_ASYMM_SIGNED (level 6) of rank 2 or 3 or 4
            rhs: of the type of lhs of rank 2 or 3 or 4
            adj_x: BOOL (level 6)
            adj_y: BOOL (level 6)

        Outputs:
            out: of the type of lhs
        """
    def batch_to_space_nd(
        self,
        input: Tensor | ArrayLike,
        block_shape: Tensor | ArrayLike | Sequence[int],
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BATCH_TO_SPACE_ND: blocks of pixels moved from the batch into height and width.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            block_shape: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of input
        """
    def bidirectional_sequence_lstm(
        self,
        input: Tensor | ArrayLike,
        fw_input_to_input_weights: Tensor | ArrayLike | None,
        fw_input_to_forget_weights: Tensor | ArrayLike,
        fw_input_to_cell_weights: Tensor | ArrayLike,
        fw_input_to_output_weights: Tensor | ArrayLike,
        fw_recurrent_to_input_weights: Tensor | ArrayLike | None,
        fw_recurrent_to_forget_weights: Tensor | ArrayLike,
        fw_recurrent_to_cell_weights: Tensor | ArrayLike,
        fw_recurrent_to_output_weights: Tensor | ArrayLike,
        fw_cell_to_input_weights: Tensor | ArrayLike | None,
        fw_cell_to_forget_weights: Tensor | ArrayLike | None,
        fw_cell_to_output_weights: Tensor | ArrayLike | None,
        fw_input_gate_bias: Tensor | ArrayLike | None,
        fw_forget_gate_bias: Tensor | ArrayLike,
        fw_cell_bias: Tensor | ArrayLike,
        fw_output_gate_bias: Tensor | ArrayLike,
        fw_projection_weights: Tensor | ArrayLike | None,
        fw_projection_bias: Tensor | ArrayLike | None,
        bw_input_to_input_weights: Tensor | ArrayLike | None,
        bw_input_to_forget_weights: Tensor | ArrayLike,
        bw_input_to_cell_weights: Tensor | ArrayLike,
        bw_input_to_output_weights: Tensor | ArrayLike,
        bw_recurrent_to_input_weights: Tensor | ArrayLike | None,
        bw_recurrent_to_forget_weights: Tensor | ArrayLike,
        bw_recurrent_to_cell_weights: Tensor | ArrayLike,
        bw_recurrent_to_output_weights: Tensor | ArrayLike,
        bw_cell_to_input_weights: Tensor | ArrayLike | None,
        bw_cell_to_forget_weights: Tensor | ArrayLike | None,
        bw_cell_to_output_weights: Tensor | ArrayLike | None,
        bw_input_gate_bias: Tensor | ArrayLike | None,
        bw_forget_gate_bias: Tensor | ArrayLike,
        bw_cell_bias: Tensor | ArrayLike,
        bw_output_gate_bias: Tensor | ArrayLike,
        bw_projection_weights: Tensor | ArrayLike | None,
        bw_projection_bias: Tensor | ArrayLike | None,
        fw_activation_state_in: Tensor | ArrayLike,
        fw_cell_state_in: Tensor | ArrayLike,
        bw_activation_state_in: Tensor | ArrayLike,
        bw_cell_state_in: Tensor | ArrayLike,
        aux_input: Tensor | ArrayLike | None,
        fw_aux_input_to_input_weights: Tensor | ArrayLike | None,
        fw_aux_input_to_forget_weights: Tensor | ArrayLike | None,
        fw_aux_input_to_cell_weights: Tensor | ArrayLike | None,
        fw_aux_input_to_output_weights: Tensor | ArrayLike | None,
        bw_aux_input_to_input_weights: Tensor | ArrayLike | None,
        bw_aux_input_to_forget_weights: Tensor | ArrayLike | None,
        bw_aux_input_to_cell_weights: Tensor | ArrayLike | None,
        bw_aux_input_to_output_weights: Tensor | ArrayLike | None,
        activation: Tensor | Whole,
        cell_clip: Tensor | Number,
        proj_clip: Tensor | Number,
        merge_outputs: Tensor | bool,
        time_major: Tensor | bool,
        fw_input_layer_norm_weights: Tensor | ArrayLike | None = None,
        fw_forget_layer_norm_weights: Tensor | ArrayLike | None = None,
        fw_cell_layer_norm_weights: Tensor | ArrayLike | None = None,
        fw_output_layer_norm_weights: Tensor | ArrayLike | None = None,
        bw_input_layer_norm_weights: Tensor | ArrayLike | None = None,
        bw_forget_layer_norm_weights: Tensor | ArrayLike | None = None,
        bw_cell_layer_norm_weights: Tensor | ArrayLike | None = None,
        bw_output_layer_norm_weights: Tensor | ArrayLike | None = None,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Any:
        """BIDIRECTIONAL_SEQUENCE_LSTM: an LSTM over a sequence in both directions.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            fw_input_to_input_weights: of the type of input of rank 2 or None
            fw_input_to_forget_weights: of the type of input of rank 2
            fw_input_to_cell_weights: of the type of input of rank 2
            fw_input_to_output_weights: of the type of input of rank 2
            fw_recurrent_to_input_weights: of the type of input of rank 2 or None
            fw_recurrent_to_forget_weights: of the type of input of rank 2
            fw_recurrent_to_cell_weights: of the type of input of rank 2
            fw_recurrent_to_output_weights: of the type of input of rank 2
            fw_cell_to_input_weights: of the type of input of rank 1 or None
            fw_cell_to_forget_weights: of the type of input of rank 1 or None
            fw_cell_to_output_weights: of the type of input of rank 1 or None
            fw_input_gate_bias: of the type of input of rank 1 or None
            fw_forget_gate_bias: of the type of input of rank 1
            fw_cell_bias: of the type of input of rank 1
            fw_output_gate_bias: of the type of input of rank 1
            fw_projection_weights: of the type of input of rank 2 or None
            fw_projection_bias: of the type of input of rank 1 or None
            bw_input_to_input_weights: of the type of input of rank 2 or None
            bw_input_to_forget_weights: of the type of input of rank 2
            bw_input_to_cell_weights: of the type of input of rank 2
            bw_input_to_output_weights: of the type of input of rank 2
            bw_recurrent_to_input_weights: of the type of input of rank 2 or None
            bw_recurrent_to_forget_weights: of the type of input of rank 2
            bw_recurrent_to_cell_weights: of the type of input of rank 2
            bw_recurrent_to_output_weights: of the type of input of rank 2
            bw_cell_to_input_weights: of the type of input of rank 1 or None
            bw_cell_to_forget_weights: of the type of input of rank 1 or None
            bw_cell_to_output_weights: of the type of input of rank 1 or None
            bw_input_gate_bias: of the type of input of rank 1 or None
            bw_forget_gate_bias: of the type of input of rank 1
            bw_cell_bias: of the type of input of rank 1
            bw_output_gate_bias: of the type of input of rank 1
            bw_projection_weights: of the type of input of rank 2 or None
            bw_projection_bias: of the type of input of rank 1 or None
            fw_activation_state_in: of the type of input of rank 2
            fw_cell_state_in: of the type of input of rank 2
            bw_activation_state_in: of the type of input of rank 2
            bw_cell_state_in: of the type of input of rank 2
            aux_input: of the type of input of rank 3 or None
            fw_aux_input_to_input_weights: of the type of input of rank 2 or None
            fw_aux_input_to_forget_weights: of the type of input of rank 2 or None
            fw_aux_input_to_cell_weights: of the type of input of rank 2 or None
            fw_aux_input_to_output_weights: of the type of input of rank 2 or None
            bw_aux_input_to_input_weights: of the type of input of rank 2 or None
            bw_aux_input_to_forget_weights: of the type of input of rank 2 or None
            bw_aux_input_to_cell_weights: of the type of input of rank 2 or None
            bw_aux_input_to_output_weights: of the type of input of rank 2 or None
            activation: INT32 (level 3)
            cell_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            proj_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            merge_outputs: BOOL (level 3)
            time_major: BOOL (level 3)
            fw_input_layer_norm_weights: of the type of input of rank 1 or None
            fw_forget_layer_norm_weights: of the type of input of rank 1 or None
            fw_cell_layer_norm_weights: of the type of input of rank 1 or None
            fw_output_layer_norm_weights: of the type of input of rank 1 or None
            bw_input_layer_norm_weights: of the type of input of rank 1 or None
            bw_forget_layer_norm_weights: of the type of input of rank 1 or None
            bw_cell_layer_norm_weights: of the type of input of rank 1 or None
            bw_output_layer_norm_weights: of the type of input of rank 1 or None

        Outputs:
            fw_output: of the type of input
            bw_output: of the type of input
            fw_activation_state_out: of the type of input
            fw_cell_state_out: of the type of input
            bw_activation_state_out: of the type of input
            bw_cell_state_out: of the type of input
        """
    def bidirectional_sequence_rnn(
        self,
        input: Tensor | ArrayLike,
        fw_weights: Tensor | ArrayLike,
        fw_recurrent_weights: Tensor | ArrayLike,
        fw_bias: Tensor | ArrayLike,
        fw_hidden_in: Tensor | ArrayLike,
        bw_weights: Tensor | ArrayLike,
        bw_recurrent_weights: Tensor | ArrayLike,
        bw_bias: Tensor | ArrayLike,
        bw_hidden_in: Tensor | ArrayLike,
        aux_input: Tensor | ArrayLike | None,
        fw_aux_weights: Tensor | ArrayLike | None,
        bw_aux_weights: Tensor | ArrayLike | None,
        activation: Tensor | Whole,
        time_major: Tensor | bool,
        merge_outputs: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Any:
        """BIDIRECTIONAL_SEQUENCE_RNN: a simple recurrent network over a sequence in both directions.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            fw_weights: of the type of input of rank 2
            fw_recurrent_weights: of the type of input of rank 2
            fw_bias: of the type of input of rank 1
            fw_hidden_in: of the type of input of rank 2
            bw_weights: of the type of input of rank 2
            bw_recurrent_weights: of the type of input of rank 2
            bw_bias: of the type of input of rank 1
            bw_hidden_in: of the type of input of rank 2
            aux_input: of the type of input of rank 3 or None
            fw_aux_weights: of the type of input of rank 2 or None
            bw_aux_weights: of the type of input of rank 2 or None
            activation: INT32 (level 3)
            time_major: BOOL (level 3)
            merge_outputs: BOOL (level 3)

        Outputs:
            fw_output: of the type of input
            bw_output: of the type of input
            fw_hidden_out: of the type of input
            bw_hidden_out: of the type of input
        """
    def bitcast(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BITCAST: the bits of each element, read as another type; a float16 has the lowest 16 bits of an int32.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3)

        Outputs:
            out: TENSOR_INT32 beside TENSOR_FLOAT32 or TENSOR_FLOAT16, TENSOR_FLOAT32 or TENSOR_FLOAT16 beside TENSOR_INT32
        """
    def bitwise_and(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BITWISE_AND: the bits that are set in x and in y.

        Operands:
            x: TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def bitwise_or(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BITWISE_OR: the bits that are set in x or in y.

        Operands:
            x: TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def bitwise_xor(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BITWISE_XOR: the bits that are set in x or in y, but not in both.

        Operands:
            x: TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def blockwise_fully_connected(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        scales: Tensor | ArrayLike,
        zero_points: Tensor | ArrayLike | None,
        bias: Tensor | ArrayLike | None,
        bits: Tensor | Whole,
        block_size: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """BLOCKWISE_FULLY_CONNECTED: the product of rows and weights of few bits, with a scale for each block, plus bias.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 2 or 3 or 4
            weights: TENSOR_QUANT8_ASYMM (level 3) of rank 3
            scales: of the type of input of rank 2
            zero_points: TENSOR_QUANT8_ASYMM (level 3) of rank 2 or None
            bias: of the type of input of rank 1 or None
            bits: INT32 (level 3)
            block_size: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def box_with_nms_limit(
        self,
        scores: Tensor | ArrayLike,
        boxes: Tensor | ArrayLike,
        batch_index: Tensor | ArrayLike,
        score_threshold: Tensor | Number,
        max_boxes: Tensor | Whole,
        nms_kernel: Tensor | Whole,
        iou_threshold: Tensor | Number,
        sigma: Tensor | Number,
        nms_score_threshold: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """BOX_WITH_NMS_LIMIT: the best boxes of each class after non-maximum suppression.

        Operands:
            scores: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 2
            boxes: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            batch_index: TENSOR_INT32 (level 3) of rank 1
            score_threshold: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            max_boxes: INT32 (level 3)
            nms_kernel: INT32 (level 3)
            iou_threshold: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            sigma: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            nms_score_threshold: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16

        Outputs:
            scores_out: of the type of scores
            boxes_out: of the type of boxes
            classes: TENSOR_INT32 (level 3)
            batches: TENSOR_INT32 (level 3)
        """
    def cast(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CAST: the elements converted to another type, without their quantization.

        Operands:
            input: TENSOR_FLOAT16 (level 3), TENSOR_FLOAT32 (level 3), TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_BOOL8 (level 4), TENSOR_QUANT16_ASYMM (level 4), TENSOR_QUANT16_SYMM (level 4), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_QUANT8_SYMM (level 4)

        Outputs:
            out: TENSOR_FLOAT16 or TENSOR_FLOAT32 or TENSOR_INT32 or TENSOR_QUANT8_ASYMM beside TENSOR_FLOAT16 or TENSOR_FLOAT32 or TENSOR_INT32 or TENSOR_QUANT8_ASYMM, TENSOR_BOOL8 beside TENSOR_BOOL8, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT16_ASYMM, TENSOR_QUANT16_SYMM beside TENSOR_QUANT16_SYMM, TENSOR_QUANT8_ASYMM_SIGNED beside TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM beside TENSOR_QUANT8_SYMM
        """
    def ceil(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CEIL: each element rounded up.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def channel_shuffle(
        self,
        input: Tensor | ArrayLike,
        num_groups: Tensor | Whole,
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CHANNEL_SHUFFLE: channels reshaped to [groups, channels / groups], transposed, and flattened.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            num_groups: INT32 (level 3)
            axis: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    @overload
    def concatenation(
        self,
        *inputs: Tensor | ArrayLike,
        axis: Tensor | Whole = ...,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CONCATENATION: tensors concatenated along an axis.

        Operands:
            inputs: any number, at least 1, of TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axis: INT32

        Outputs:
            out: of the type of inputs
        """
    @overload
    def concatenation(
        self,
        inputs: Sequence[Tensor | ArrayLike],
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    @overload
    def concatenation_v2(
        self,
        *inputs: Tensor | ArrayLike,
        axis: Tensor | Whole = ...,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CONCATENATION_V2: 32-bit integers concatenated along an axis.

        Operands:
            inputs: any number, at least 1, of TENSOR_INT32 (level 4) of rank 1 or 2 or 3 or 4
            axis: INT32 (level 4)

        Outputs:
            out: of the type of inputs
        """
    @overload
    def concatenation_v2(
        self,
        inputs: Sequence[Tensor | ArrayLike],
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def convert(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CONVERT: the elements converted to another type, as files cast.

        Operands:
            input: TENSOR_FLOAT16 (level 3), TENSOR_FLOAT32 (level 3), TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 3), TENSOR_BOOL8 (level 3), TENSOR_QUANT8_SYMM (level 3), TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3)

        Outputs:
            out: TENSOR_FLOAT16 (level 3), TENSOR_FLOAT32 (level 3), TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 3), TENSOR_BOOL8 (level 3)
        """
    @overload
    def conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        dilation_w: Tensor | Whole = ...,
        dilation_h: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CONV_2D: an image convolved with filters, plus bias and activation.

        Overload explicit_padding: input, filter, bias, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, activation, layout, dilation_w, dilation_h
        Overload implicit_padding: input, filter, bias, padding_scheme, stride_w, stride_h, activation, layout, dilation_w, dilation_h

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            filter: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM_SIGNED of rank 4
            bias: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 1
            pad_left: INT32
            pad_right: INT32
            pad_top: INT32
            pad_bottom: INT32
            stride_w: INT32
            stride_h: INT32
            activation: INT32 (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            dilation_w: INT32 (level 3) 1 by default
            dilation_h: INT32 (level 3) 1 by default
            padding_scheme: INT32

        Outputs:
            out: of the type of input
        """
    @overload
    def conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        dilation_w: Tensor | Whole = ...,
        dilation_h: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def conv_3d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        dilations: Tensor | ArrayLike | Sequence[int],
        groups: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CONV_3D: a volume convolved with filters in groups of channels, plus bias and activation.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 5
            filter: of the type of input of rank 5
            bias: of the type of input of rank 1
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            strides: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            dilations: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            groups: INT32 (level 3)
            activation: INT32 (level 3) (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of input
        """
    def cumsum(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        exclusive: Tensor | bool,
        reverse: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """CUMSUM: the sums of the elements up to each element along an axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            exclusive: BOOL (level 3)
            reverse: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    @overload
    def depthwise_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        multiplier: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        dilation_w: Tensor | Whole = ...,
        dilation_h: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """DEPTHWISE_CONV_2D: each channel of an image convolved with filters of its own, plus bias and activation.

        Overload explicit_padding: input, filter, bias, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, multiplier, activation, layout, dilation_w, dilation_h
        Overload implicit_padding: input, filter, bias, padding_scheme, stride_w, stride_h, multiplier, activation, layout, dilation_w, dilation_h

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            filter: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM_SIGNED of rank 4
            bias: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 1
            pad_left: INT32
            pad_right: INT32
            pad_top: INT32
            pad_bottom: INT32
            stride_w: INT32
            stride_h: INT32
            multiplier: INT32
            activation: INT32 (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            dilation_w: INT32 (level 3) 1 by default
            dilation_h: INT32 (level 3) 1 by default
            padding_scheme: INT32

        Outputs:
            out: of the type of input
        """
    @overload
    def depthwise_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        multiplier: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        dilation_w: Tensor | Whole = ...,
        dilation_h: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def depth_to_space(
        self,
        input: Tensor | ArrayLike,
        block_size: Tensor | Whole,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """DEPTH_TO_SPACE: blocks of channels rearranged into height and width.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            block_size: INT32
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of input
        """
    def dequantize(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """DEQUANTIZE: the float values of a quantized tensor.

        Operands:
            input: TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM (level 3), TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)
        """
    def detection_postprocessing(
        self,
        scores: Tensor | ArrayLike,
        deltas: Tensor | ArrayLike,
        anchors: Tensor | ArrayLike,
        scale_y: Tensor | Number,
        scale_x: Tensor | Number,
        scale_h: Tensor | Number,
        scale_w: Tensor | Number,
        use_regular_nms: Tensor | bool,
        max_num_detections: Tensor | Whole,
        max_classes_per_detection: Tensor | Whole,
        max_detections_per_class: Tensor | Whole,
        score_threshold: Tensor | Number,
        iou_threshold: Tensor | Number,
        background_in_labels: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """DETECTION_POSTPROCESSING: boxes decoded from anchors, and the best detections after non-maximum suppression.

        Operands:
            scores: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            deltas: of the type of scores of rank 3
            anchors: of the type of scores of rank 2
            scale_y: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_x: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_h: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_w: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            use_regular_nms: BOOL (level 3)
            max_num_detections: INT32 (level 3)
            max_classes_per_detection: INT32 (level 3)
            max_detections_per_class: INT32 (level 3)
            score_threshold: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            iou_threshold: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            background_in_labels: BOOL (level 3)

        Outputs:
            scores_out: of the type of scores
            boxes: of the type of scores
            classes: TENSOR_INT32 (level 3)
            valid_count: TENSOR_INT32 (level 3)
        """
    def detection_postprocessing_v2(
        self,
        scores: Tensor | ArrayLike,
        deltas: Tensor | ArrayLike,
        anchors: Tensor | ArrayLike,
        scale_y: Tensor | Number,
        scale_x: Tensor | Number,
        scale_h: Tensor | Number,
        scale_w: Tensor | Number,
        use_regular_nms: Tensor | bool,
        max_num_detections: Tensor | Whole,
        max_classes_per_detection: Tensor | Whole,
        max_detections_per_class: Tensor | Whole,
        score_threshold: Tensor | Number,
        iou_threshold: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """DETECTION_POSTPROCESSING_V2: as DETECTION_POSTPROCESSING, by scores without a background.

        Operands:
            scores: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            deltas: of the type of scores of rank 3
            anchors: of the type of scores of rank 2
            scale_y: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_x: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_h: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            scale_w: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            use_regular_nms: BOOL (level 3)
            max_num_detections: INT32 (level 3)
            max_classes_per_detection: INT32 (level 3)
            max_detections_per_class: INT32 (level 3)
            score_threshold: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            iou_threshold: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16

        Outputs:
            scores_out: of the type of scores
            boxes: of the type of scores
            classes: TENSOR_INT32 (level 3)
            valid_count: TENSOR_INT32 (level 3)
        """
    def dft(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        length: Tensor | Whole,
        inverse: Tensor | bool,
        onesided: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """DFT: the discrete Fourier transform along an axis; the last axis has the real and the imaginary part.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)
            axis: INT32 (level 3)
            length: INT32 (level 3)
            inverse: BOOL (level 3)
            onesided: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def div(
        self,
        lhs: Tensor | ArrayLike,
        rhs: Tensor | ArrayLike,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """DIV: the quotient of two tensors, element by element, with broadcasting; integers are rounded down.

        Operands:
            lhs: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4) of rank 1 or 2 or 3 or 4
            rhs: of the type of lhs of rank 1 or 2 or 3 or 4
            activation: INT32 (level 2) (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of lhs
        """
    def elu(
        self,
        input: Tensor | ArrayLike,
        alpha: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ELU: x above 0, alpha · (exp(x) - 1) below.

        Operands:
            input: TENSOR_FLOAT32 (level 4), TENSOR_FLOAT16 (level 4)
            alpha: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16

        Outputs:
            out: of the type of input
        """
    def embedding_lookup(
        self,
        lookups: Tensor | ArrayLike,
        values: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """EMBEDDING_LOOKUP: the rows of a table at the given indices.

        Operands:
            lookups: TENSOR_INT32 of rank 1
            values: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 4), TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)

        Outputs:
            out: of the type of values
        """
    def equal(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """EQUAL: whether two tensors are equal, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    def erf(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ERF: the error function of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def exp(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """EXP: e to the power of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def expand_dims(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """EXPAND_DIMS: the tensor with an axis of size 1 inserted.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def fill(
        self,
        dims: Tensor | ArrayLike | Sequence[int],
        value: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """FILL: a tensor of the given shape with one value.

        Operands:
            dims: TENSOR_INT32 (level 4) (a list of numbers) of rank 1
            value: FLOAT32 (level 4), FLOAT16 (level 4), INT32 (level 4)

        Outputs:
            out: TENSOR_FLOAT32 beside FLOAT32, TENSOR_FLOAT16 beside FLOAT16, TENSOR_INT32 beside INT32
        """
    def floor(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """FLOOR: each element rounded down.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def fully_connected(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """FULLY_CONNECTED: the product of rows and weights, plus bias and activation.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 2 or 3 or 4
            weights: of the type of input of rank 2
            bias: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 1
            activation: INT32 (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of input
        """
    def gather(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        indices: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GATHER: slices along an axis at the given indices.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            indices: TENSOR_INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def gather_elements(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        indices: Tensor | ArrayLike,
        from_end: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GATHER_ELEMENTS: the elements whose coordinate along an axis is the index, and the others those of the index itself.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            indices: TENSOR_INT32 (level 3)
            from_end: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def gather_nd(
        self,
        input: Tensor | ArrayLike,
        indices: Tensor | ArrayLike,
        batch_dims: Tensor | Whole,
        from_end: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GATHER_ND: the elements or slices at the coordinates in the last axis of indices.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            indices: TENSOR_INT32 (level 3)
            batch_dims: INT32 (level 3)
            from_end: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def gelu(
        self,
        input: Tensor | ArrayLike,
        approximate: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GELU: x · (1 + erf(x / √2)) / 2, or its approximation by tanh.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)
            approximate: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def generate_proposals(
        self,
        scores: Tensor | ArrayLike,
        deltas: Tensor | ArrayLike,
        anchors: Tensor | ArrayLike,
        image_info: Tensor | ArrayLike,
        height_stride: Tensor | Number,
        width_stride: Tensor | Number,
        pre_nms_max: Tensor | Whole,
        post_nms_max: Tensor | Whole,
        iou_threshold: Tensor | Number,
        min_size: Tensor | Number,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor]:
        """GENERATE_PROPOSALS: region proposals from scores and box deltas at anchors.

        Operands:
            scores: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            deltas: of the type of scores of rank 4
            anchors: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_SYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            image_info: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            height_stride: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            width_stride: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            pre_nms_max: INT32 (level 3)
            post_nms_max: INT32 (level 3)
            iou_threshold: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            min_size: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            layout: BOOL (level 3) False by default

        Outputs:
            scores_out: of the type of scores
            boxes: of the type of image_info
            batches: TENSOR_INT32 (level 3)
        """
    def greater(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GREATER: whether x > y, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    def greater_equal(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GREATER_EQUAL: whether x ≥ y, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    def grid_sample(
        self,
        input: Tensor | ArrayLike,
        grid: Tensor | ArrayLike,
        mode: Tensor | Whole,
        padding: Tensor | Whole,
        align_corners: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GRID_SAMPLE: pixels of an image or a volume at computed locations, interpolated.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3) of rank 4 or 5
            grid: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 4 or 5
            mode: INT32 (level 3)
            padding: INT32 (level 3)
            align_corners: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    @overload
    def grouped_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        num_groups: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GROUPED_CONV_2D: an image convolved in groups of channels, plus bias and activation.

        Overload explicit_padding: input, filter, bias, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, num_groups, activation, layout
        Overload implicit_padding: input, filter, bias, padding_scheme, stride_w, stride_h, num_groups, activation, layout

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            filter: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM_SIGNED of rank 4
            bias: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 1
            pad_left: INT32 (level 3)
            pad_right: INT32 (level 3)
            pad_top: INT32 (level 3)
            pad_bottom: INT32 (level 3)
            stride_w: INT32 (level 3)
            stride_h: INT32 (level 3)
            num_groups: INT32 (level 3)
            activation: INT32 (level 3) (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            padding_scheme: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    @overload
    def grouped_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        num_groups: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def group_norm(
        self,
        input: Tensor | ArrayLike,
        gamma: Tensor | ArrayLike | None,
        beta: Tensor | ArrayLike | None,
        groups: Tensor | Whole,
        epsilon: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """GROUP_NORM: the channels, the last axis, form groups with all positions of a batch; gamma and beta are per channel.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            gamma: of the type of input of rank 1 or 2 or 3 or 4 or None
            beta: of the type of input of rank 1 or 2 or 3 or 4 or None
            groups: INT32 (level 3)
            epsilon: FLOAT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def gru(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        recurrent_weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        recurrent_bias: Tensor | ArrayLike,
        hidden_in: Tensor | ArrayLike,
        sequence_lengths: Tensor | ArrayLike | None,
        gate_activation: Tensor | Whole,
        activation: Tensor | Whole,
        clip: Tensor | Number,
        linear_before_reset: Tensor | bool,
        reverse: Tensor | bool,
        time_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """GRU: gated recurrent units over a sequence.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            weights: of the type of input of rank 2
            recurrent_weights: of the type of input of rank 2
            bias: of the type of input of rank 1
            recurrent_bias: of the type of input of rank 1
            hidden_in: of the type of input of rank 2
            sequence_lengths: TENSOR_INT32 (level 3) of rank 1 or None
            gate_activation: INT32 (level 3)
            activation: INT32 (level 3)
            clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            linear_before_reset: BOOL (level 3)
            reverse: BOOL (level 3)
            time_major: BOOL (level 3)

        Outputs:
            output: of the type of input
            hidden_out: of the type of input
        """
    def hard_swish(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """HARD_SWISH: x · min(max(x + 3, 0), 6) / 6.

        Operands:
            input: TENSOR_FLOAT32 (level 4), TENSOR_FLOAT16 (level 4), TENSOR_QUANT8_ASYMM (level 4), TENSOR_QUANT8_ASYMM_SIGNED (level 4)

        Outputs:
            out: of the type of input
        """
    def hashtable_lookup(
        self,
        lookups: Tensor | ArrayLike,
        keys: Tensor | ArrayLike,
        values: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """HASHTABLE_LOOKUP: the rows of a table at the given keys, and which keys were found.

        Operands:
            lookups: TENSOR_INT32 of rank 1
            keys: TENSOR_INT32 of rank 1
            values: TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM

        Outputs:
            out: of the type of values
            hits: TENSOR_QUANT8_ASYMM
        """
    def heatmap_max_keypoint(
        self,
        heatmaps: Tensor | ArrayLike,
        boxes: Tensor | ArrayLike,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """HEATMAP_MAX_KEYPOINT: the positions and scores of the peaks of heat maps, within boxes.

        Operands:
            heatmaps: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            boxes: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            layout: BOOL (level 3) False by default

        Outputs:
            scores: of the type of heatmaps
            locations: of the type of boxes
        """
    @overload
    def if_(
        self,
        condition: Tensor | ArrayLike,
        then_model: Model,
        else_model: Model,
        *inputs: Tensor | ArrayLike,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, ...]:
        """IF: the results of one of two models, chosen by a condition.

        Operands:
            condition: TENSOR_BOOL8 (level 4) of rank 1
            then_model: a finished Model
            else_model: a finished Model
            inputs: any number, at least 0, of operands of any type

        Outputs:
            outputs: any number, at least 1, of operands of any type
        """
    @overload
    def if_(
        self,
        condition: Tensor | ArrayLike,
        then_model: Model,
        else_model: Model,
        inputs: Sequence[Tensor | ArrayLike],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, ...]: ...
    def instance_normalization(
        self,
        input: Tensor | ArrayLike,
        gamma: Tensor | Number,
        beta: Tensor | Number,
        epsilon: Tensor | Number,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """INSTANCE_NORMALIZATION: each channel of each image normalized to mean 0 and variance 1, times gamma, plus beta.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 4
            gamma: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            beta: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            epsilon: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of input
        """
    def l2_normalization(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """L2_NORMALIZATION: the tensor divided by its Euclidean norm along an axis.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axis: INT32 (level 3) -1 by default

        Outputs:
            out: of the type of input
        """
    @overload
    def l2_pool_2d(
        self,
        input: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """L2_POOL_2D: the root of the mean square of each window of an image.

        Overload explicit_padding: input, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, filter_w, filter_h, activation, layout
        Overload implicit_padding: input, padding_scheme, stride_w, stride_h, filter_w, filter_h, activation, layout

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 4
            pad_left: INT32
            pad_right: INT32
            pad_top: INT32
            pad_bottom: INT32
            stride_w: INT32
            stride_h: INT32
            filter_w: INT32
            filter_h: INT32
            activation: INT32 (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            padding_scheme: INT32

        Outputs:
            out: of the type of input
        """
    @overload
    def l2_pool_2d(
        self,
        input: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def layer_norm(
        self,
        input: Tensor | ArrayLike,
        gamma: Tensor | ArrayLike | None,
        beta: Tensor | ArrayLike | None,
        axis: Tensor | Whole,
        epsilon: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LAYER_NORM: all elements of the axes from ``axis`` on are one group; then times gamma, plus beta.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            gamma: of the type of input of rank 1 or 2 or 3 or 4 or None
            beta: of the type of input of rank 1 or 2 or 3 or 4 or None
            axis: INT32 (level 3)
            epsilon: FLOAT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def left_shift(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LEFT_SHIFT: the bits of x moved towards the highest by y; zeros fill the lowest.

        Operands:
            x: TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def less(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LESS: whether x < y, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    def less_equal(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LESS_EQUAL: whether x ≤ y, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    def local_response_normalization(
        self,
        input: Tensor | ArrayLike,
        radius: Tensor | Whole,
        bias: Tensor | Number,
        alpha: Tensor | Number,
        beta: Tensor | Number,
        axis: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOCAL_RESPONSE_NORMALIZATION: x / (bias + alpha · sum of squares within the radius)^beta, along an axis.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            radius: INT32
            bias: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            alpha: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            beta: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            axis: INT32 (level 3) -1 by default

        Outputs:
            out: of the type of input
        """
    def log(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOG: the natural logarithm of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def logical_and(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOGICAL_AND: x and y, element by element, with broadcasting.

        Operands:
            x: TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def logical_not(
        self,
        x: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOGICAL_NOT: not x, element by element.

        Operands:
            x: TENSOR_BOOL8 (level 3)

        Outputs:
            out: of the type of x
        """
    def logical_or(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOGICAL_OR: x or y, element by element, with broadcasting.

        Operands:
            x: TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def logistic(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOGISTIC: 1 / (1 + exp(-x)) of each element.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def log_softmax(
        self,
        input: Tensor | ArrayLike,
        beta: Tensor | Number,
        axis: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LOG_SOFTMAX: the logarithm of SOFTMAX along an axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)
            beta: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            axis: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def lsh_projection(
        self,
        hash: Tensor | ArrayLike,
        input: Tensor | ArrayLike,
        weight: Tensor | ArrayLike | None,
        type: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """LSH_PROJECTION: a projection of the input to bits by locality-sensitive hashing.

        Operands:
            hash: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 2
            input: TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16 (level 3)
            weight: of the type of hash of rank 1 or None
            type: INT32

        Outputs:
            out: TENSOR_INT32
        """
    def lstm(
        self,
        input: Tensor | ArrayLike,
        input_to_input_weights: Tensor | ArrayLike | None,
        input_to_forget_weights: Tensor | ArrayLike,
        input_to_cell_weights: Tensor | ArrayLike,
        input_to_output_weights: Tensor | ArrayLike,
        recurrent_to_input_weights: Tensor | ArrayLike | None,
        recurrent_to_forget_weights: Tensor | ArrayLike,
        recurrent_to_cell_weights: Tensor | ArrayLike,
        recurrent_to_output_weights: Tensor | ArrayLike,
        cell_to_input_weights: Tensor | ArrayLike | None,
        cell_to_forget_weights: Tensor | ArrayLike | None,
        cell_to_output_weights: Tensor | ArrayLike | None,
        input_gate_bias: Tensor | ArrayLike | None,
        forget_gate_bias: Tensor | ArrayLike,
        cell_bias: Tensor | ArrayLike,
        output_gate_bias: Tensor | ArrayLike,
        projection_weights: Tensor | ArrayLike | None,
        projection_bias: Tensor | ArrayLike | None,
        output_state_in: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        activation: Tensor | Whole,
        cell_clip: Tensor | Number,
        proj_clip: Tensor | Number,
        input_layer_norm_weights: Tensor | ArrayLike | None = None,
        forget_layer_norm_weights: Tensor | ArrayLike | None = None,
        cell_layer_norm_weights: Tensor | ArrayLike | None = None,
        output_layer_norm_weights: Tensor | ArrayLike | None = None,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """LSTM: one step of a long short-term memory.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 2
            input_to_input_weights: of the type of input of rank 2 or None
            input_to_forget_weights: of the type of input of rank 2
            input_to_cell_weights: of the type of input of rank 2
            input_to_output_weights: of the type of input of rank 2
            recurrent_to_input_weights: of the type of input of rank 2 or None
            recurrent_to_forget_weights: of the type of input of rank 2
            recurrent_to_cell_weights: of the type of input of rank 2
            recurrent_to_output_weights: of the type of input of rank 2
            cell_to_input_weights: of the type of input of rank 1 or None
            cell_to_forget_weights: of the type of input of rank 1 or None
            cell_to_output_weights: of the type of input of rank 1 or None
            input_gate_bias: of the type of input of rank 1 or None
            forget_gate_bias: of the type of input of rank 1
            cell_bias: of the type of input of rank 1
            output_gate_bias: of the type of input of rank 1
            projection_weights: of the type of input of rank 2 or None
            projection_bias: of the type of input of rank 1 or None
            output_state_in: of the type of input of rank 2
            cell_state_in: of the type of input of rank 2
            activation: INT32
            cell_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            proj_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            input_layer_norm_weights: of the type of input of rank 1 or None
            forget_layer_norm_weights: of the type of input of rank 1 or None
            cell_layer_norm_weights: of the type of input of rank 1 or None
            output_layer_norm_weights: of the type of input of rank 1 or None

        Outputs:
            scratch_buffer: of the type of input
            output_state_out: of the type of input
            cell_state_out: of the type of input
            output: of the type of input
        """
    def lstm_sequence(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        recurrent_weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        peepholes: Tensor | ArrayLike | None,
        hidden_in: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        sequence_lengths: Tensor | ArrayLike | None,
        gate_activation: Tensor | Whole,
        cell_activation: Tensor | Whole,
        hidden_activation: Tensor | Whole,
        clip: Tensor | Number,
        input_forget: Tensor | bool,
        reverse: Tensor | bool,
        time_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor]:
        """LSTM_SEQUENCE: an LSTM over a sequence, with any activations, and with clipped sums and sequence lengths.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            weights: of the type of input of rank 2
            recurrent_weights: of the type of input of rank 2
            bias: of the type of input of rank 1
            peepholes: of the type of input of rank 1 or None
            hidden_in: of the type of input of rank 2
            cell_state_in: of the type of input of rank 2
            sequence_lengths: TENSOR_INT32 (level 3) of rank 1 or None
            gate_activation: INT32 (level 3)
            cell_activation: INT32 (level 3)
            hidden_activation: INT32 (level 3)
            clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            input_forget: BOOL (level 3)
            reverse: BOOL (level 3)
            time_major: BOOL (level 3)

        Outputs:
            output: of the type of input
            hidden_out: of the type of input
            cell_state_out: of the type of input
        """
    def maximum(
        self,
        a: Tensor | ArrayLike,
        b: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MAXIMUM: the larger of two tensors, element by element, with broadcasting.

        Operands:
            a: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            b: of the type of a

        Outputs:
            out: of the type of a
        """
    @overload
    def max_pool_2d(
        self,
        input: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MAX_POOL_2D: the largest element of each window of an image.

        Overload explicit_padding: input, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, filter_w, filter_h, activation, layout
        Overload implicit_padding: input, padding_scheme, stride_w, stride_h, filter_w, filter_h, activation, layout

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            pad_left: INT32
            pad_right: INT32
            pad_top: INT32
            pad_bottom: INT32
            stride_w: INT32
            stride_h: INT32
            filter_w: INT32
            filter_h: INT32
            activation: INT32 (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            padding_scheme: INT32

        Outputs:
            out: of the type of input
        """
    @overload
    def max_pool_2d(
        self,
        input: Tensor | ArrayLike,
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        filter_w: Tensor | Whole,
        filter_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def max_pool_3d(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        size: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MAX_POOL_3D: the largest element of each window of a volume.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 5
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            strides: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            size: TENSOR_INT32 (level 3) (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    def max_unpool_2d(
        self,
        input: Tensor | ArrayLike,
        positions: Tensor | ArrayLike,
        size: Tensor | ArrayLike | Sequence[int],
        column_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MAX_UNPOOL_2D: an image of zeros with one element of each window written at its position.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 4
            positions: TENSOR_INT32 (level 3) of rank 4
            size: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            column_major: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def mean(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MEAN: the mean along axes.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            keep_dims: INT32 (level 2)

        Outputs:
            out: of the type of input
        """
    def mean_v2(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MEAN_V2: the mean along axes; a quantized result has its own scale and zero point, and is rounded to nearest.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def minimum(
        self,
        a: Tensor | ArrayLike,
        b: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MINIMUM: the smaller of two tensors, element by element, with broadcasting.

        Operands:
            a: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            b: of the type of a

        Outputs:
            out: of the type of a
        """
    def mirror_pad(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        mode: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MIRROR_PAD: the tensor surrounded by its own mirror image.

        Operands:
            input: TENSOR_FLOAT32 (level 7), TENSOR_FLOAT16 (level 7), TENSOR_QUANT8_ASYMM (level 7), TENSOR_QUANT8_ASYMM_SIGNED (level 7), TENSOR_INT32 (level 7)
            paddings: TENSOR_INT32 (level 7) (a list of numbers) of rank 2
            mode: INT32 (level 7)

        Outputs:
            out: of the type of input
        """
    def mish(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MISH: x · tanh(softplus(x)).

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def mod(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        fmod: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MOD: the remainder of x / y, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3)
            y: of the type of x
            fmod: BOOL (level 3)

        Outputs:
            out: of the type of x
        """
    def mul(
        self,
        lhs: Tensor | ArrayLike,
        rhs: Tensor | ArrayLike,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """MUL: the product of two tensors, element by element, with broadcasting.

        Operands:
            lhs: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 4) of rank 1 or 2 or 3 or 4
            rhs: of the type of lhs of rank 1 or 2 or 3 or 4
            activation: INT32 (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of lhs
        """
    def neg(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """NEG: the negative of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def nonzero(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """NONZERO: the positions of the elements that are not zero, one row for each axis, in the order of the elements.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3) of rank 1 or 2 or 3 or 4

        Outputs:
            indices: TENSOR_INT32
        """
    def non_max_suppression(
        self,
        boxes: Tensor | ArrayLike,
        scores: Tensor | ArrayLike,
        max_boxes: Tensor | Whole,
        iou_threshold: Tensor | Number,
        score_threshold: Tensor | Number,
        centered: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """NON_MAX_SUPPRESSION: the indices of boxes that overlap no better box of their class by more than a threshold.

        Operands:
            boxes: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            scores: of the type of boxes of rank 3
            max_boxes: INT32 (level 3)
            iou_threshold: FLOAT32 (level 3)
            score_threshold: FLOAT32 (level 3)
            centered: BOOL (level 3)

        Outputs:
            selected: TENSOR_INT32 (level 3)
        """
    def not_equal(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """NOT_EQUAL: whether two tensors differ, element by element, with broadcasting.

        Operands:
            x: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)
            y: of the type of x

        Outputs:
            out: TENSOR_BOOL8 (level 3)
        """
    @overload
    def pack(
        self,
        axis: Tensor | Whole,
        *inputs: Tensor | ArrayLike,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """PACK: tensors stacked along a new axis.

        Operands:
            axis: INT32 (level 6)
            inputs: any number, at least 1, of TENSOR_FLOAT32 (level 6), TENSOR_FLOAT16 (level 6), TENSOR_QUANT8_ASYMM (level 6), TENSOR_QUANT8_ASYMM_SIGNED (level 6), TENSOR_INT32 (level 6)

        Outputs:
            out: of the type of inputs
        """
    @overload
    def pack(
        self,
        axis: Tensor | Whole,
        inputs: Sequence[Tensor | ArrayLike],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def pad(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """PAD: the tensor surrounded by zeros.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            paddings: TENSOR_INT32 (level 2) (a list of numbers) of rank 2

        Outputs:
            out: of the type of input
        """
    def pad_v2(
        self,
        input: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        pad_value: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """PAD_V2: the tensor surrounded by a value.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            pad_value: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16, INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED

        Outputs:
            out: of the type of input
        """
    def pow(
        self,
        base: Tensor | ArrayLike,
        exponent: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """POW: base to the power of exponent, element by element, with broadcasting.

        Operands:
            base: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)
            exponent: of the type of base

        Outputs:
            out: of the type of base
        """
    def prelu(
        self,
        input: Tensor | ArrayLike,
        alpha: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """PRELU: x above 0, alpha · x below, with broadcasting.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            alpha: of the type of input

        Outputs:
            out: of the type of input
        """
    def quantize(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """QUANTIZE: the quantized values of a float tensor.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
        """
    def quantized_16bit_lstm(
        self,
        input: Tensor | ArrayLike,
        input_to_input_weights: Tensor | ArrayLike,
        input_to_forget_weights: Tensor | ArrayLike,
        input_to_cell_weights: Tensor | ArrayLike,
        input_to_output_weights: Tensor | ArrayLike,
        recurrent_to_input_weights: Tensor | ArrayLike,
        recurrent_to_forget_weights: Tensor | ArrayLike,
        recurrent_to_cell_weights: Tensor | ArrayLike,
        recurrent_to_output_weights: Tensor | ArrayLike,
        input_gate_bias: Tensor | ArrayLike,
        forget_gate_bias: Tensor | ArrayLike,
        cell_bias: Tensor | ArrayLike,
        output_gate_bias: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        output_in: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """QUANTIZED_16BIT_LSTM: one step of an LSTM on 8-bit inputs with a 16-bit cell state.

        Operands:
            input: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            input_to_input_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            input_to_forget_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            input_to_cell_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            input_to_output_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            recurrent_to_input_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            recurrent_to_forget_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            recurrent_to_cell_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            recurrent_to_output_weights: TENSOR_QUANT8_ASYMM (level 3) of rank 2
            input_gate_bias: TENSOR_INT32 (level 3) of rank 1
            forget_gate_bias: TENSOR_INT32 (level 3) of rank 1
            cell_bias: TENSOR_INT32 (level 3) of rank 1
            output_gate_bias: TENSOR_INT32 (level 3) of rank 1
            cell_state_in: TENSOR_QUANT16_SYMM (level 3) of rank 2
            output_in: TENSOR_QUANT8_ASYMM (level 3) of rank 2

        Outputs:
            cell_state_out: TENSOR_QUANT16_SYMM (level 3)
            output: TENSOR_QUANT8_ASYMM (level 3)
        """
    def quantized_lstm(
        self,
        input: Tensor | ArrayLike,
        input_to_input_weights: Tensor | ArrayLike | None,
        input_to_forget_weights: Tensor | ArrayLike,
        input_to_cell_weights: Tensor | ArrayLike,
        input_to_output_weights: Tensor | ArrayLike,
        recurrent_to_input_weights: Tensor | ArrayLike | None,
        recurrent_to_forget_weights: Tensor | ArrayLike,
        recurrent_to_cell_weights: Tensor | ArrayLike,
        recurrent_to_output_weights: Tensor | ArrayLike,
        cell_to_input_weights: Tensor | ArrayLike | None,
        cell_to_forget_weights: Tensor | ArrayLike | None,
        cell_to_output_weights: Tensor | ArrayLike | None,
        input_gate_bias: Tensor | ArrayLike | None,
        forget_gate_bias: Tensor | ArrayLike,
        cell_bias: Tensor | ArrayLike,
        output_gate_bias: Tensor | ArrayLike,
        projection_weights: Tensor | ArrayLike | None,
        projection_bias: Tensor | ArrayLike | None,
        output_in: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        input_layer_norm_weights: Tensor | ArrayLike | None,
        forget_layer_norm_weights: Tensor | ArrayLike | None,
        cell_layer_norm_weights: Tensor | ArrayLike | None,
        output_layer_norm_weights: Tensor | ArrayLike | None,
        cell_clip: Tensor | Number | None,
        proj_clip: Tensor | Number | None,
        input_intermediate_scale: Tensor | Number,
        forget_intermediate_scale: Tensor | Number,
        cell_intermediate_scale: Tensor | Number,
        output_intermediate_scale: Tensor | Number,
        hidden_state_zero_point: Tensor | Whole,
        hidden_state_scale: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor]:
        """QUANTIZED_LSTM: one step of an LSTM on 8-bit inputs.

        Operands:
            input: TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 2
            input_to_input_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            input_to_forget_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            input_to_cell_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            input_to_output_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_input_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            recurrent_to_forget_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_cell_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_output_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            cell_to_input_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_to_forget_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_to_output_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            input_gate_bias: TENSOR_INT32 (level 4) of rank 1 or None
            forget_gate_bias: TENSOR_INT32 (level 4) of rank 1
            cell_bias: TENSOR_INT32 (level 4) of rank 1
            output_gate_bias: TENSOR_INT32 (level 4) of rank 1
            projection_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            projection_bias: TENSOR_INT32 (level 4) of rank 1 or None
            output_in: TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 2
            cell_state_in: TENSOR_QUANT16_SYMM (level 4) of rank 2
            input_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            forget_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            output_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_clip: FLOAT32 (level 4) or None
            proj_clip: FLOAT32 (level 4) or None
            input_intermediate_scale: FLOAT32 (level 4)
            forget_intermediate_scale: FLOAT32 (level 4)
            cell_intermediate_scale: FLOAT32 (level 4)
            output_intermediate_scale: FLOAT32 (level 4)
            hidden_state_zero_point: INT32 (level 4)
            hidden_state_scale: FLOAT32 (level 4)

        Outputs:
            output_state_out: TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            cell_state_out: TENSOR_QUANT16_SYMM (level 4)
            output: TENSOR_QUANT8_ASYMM_SIGNED (level 4)
        """
    def quantized_lstm_sequence(
        self,
        input: Tensor | ArrayLike,
        input_to_input_weights: Tensor | ArrayLike | None,
        input_to_forget_weights: Tensor | ArrayLike,
        input_to_cell_weights: Tensor | ArrayLike,
        input_to_output_weights: Tensor | ArrayLike,
        recurrent_to_input_weights: Tensor | ArrayLike | None,
        recurrent_to_forget_weights: Tensor | ArrayLike,
        recurrent_to_cell_weights: Tensor | ArrayLike,
        recurrent_to_output_weights: Tensor | ArrayLike,
        cell_to_input_weights: Tensor | ArrayLike | None,
        cell_to_forget_weights: Tensor | ArrayLike | None,
        cell_to_output_weights: Tensor | ArrayLike | None,
        input_gate_bias: Tensor | ArrayLike | None,
        forget_gate_bias: Tensor | ArrayLike,
        cell_bias: Tensor | ArrayLike,
        output_gate_bias: Tensor | ArrayLike,
        projection_weights: Tensor | ArrayLike | None,
        projection_bias: Tensor | ArrayLike | None,
        output_in: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        input_layer_norm_weights: Tensor | ArrayLike | None,
        forget_layer_norm_weights: Tensor | ArrayLike | None,
        cell_layer_norm_weights: Tensor | ArrayLike | None,
        output_layer_norm_weights: Tensor | ArrayLike | None,
        cell_clip: Tensor | Number | None,
        proj_clip: Tensor | Number | None,
        input_intermediate_scale: Tensor | Number,
        forget_intermediate_scale: Tensor | Number,
        cell_intermediate_scale: Tensor | Number,
        output_intermediate_scale: Tensor | Number,
        hidden_state_zero_point: Tensor | Whole,
        hidden_state_scale: Tensor | Number,
        time_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor]:
        """QUANTIZED_LSTM_SEQUENCE: an LSTM on 8-bit inputs over a sequence, with the arithmetic of QUANTIZED_LSTM.

        Operands:
            input: TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 3
            input_to_input_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            input_to_forget_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            input_to_cell_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            input_to_output_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_input_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            recurrent_to_forget_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_cell_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            recurrent_to_output_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2
            cell_to_input_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_to_forget_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_to_output_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            input_gate_bias: TENSOR_INT32 (level 4) of rank 1 or None
            forget_gate_bias: TENSOR_INT32 (level 4) of rank 1
            cell_bias: TENSOR_INT32 (level 4) of rank 1
            output_gate_bias: TENSOR_INT32 (level 4) of rank 1
            projection_weights: TENSOR_QUANT8_SYMM (level 4) of rank 2 or None
            projection_bias: TENSOR_INT32 (level 4) of rank 1 or None
            output_in: TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 2
            cell_state_in: TENSOR_QUANT16_SYMM (level 4) of rank 2
            input_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            forget_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            output_layer_norm_weights: TENSOR_QUANT16_SYMM (level 4) of rank 1 or None
            cell_clip: FLOAT32 (level 4) or None
            proj_clip: FLOAT32 (level 4) or None
            input_intermediate_scale: FLOAT32 (level 4)
            forget_intermediate_scale: FLOAT32 (level 4)
            cell_intermediate_scale: FLOAT32 (level 4)
            output_intermediate_scale: FLOAT32 (level 4)
            hidden_state_zero_point: INT32 (level 4)
            hidden_state_scale: FLOAT32 (level 4)
            time_major: BOOL (level 4)

        Outputs:
            output: TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            output_state_out: TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            cell_state_out: TENSOR_QUANT16_SYMM (level 4)
        """
    def quantize_to_even(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """QUANTIZE_TO_EVEN: the quantized values of a float tensor, where halves between two are rounded to the even one.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
        """
    def random_multinomial(
        self,
        logits: Tensor | ArrayLike,
        sample_count: Tensor | Whole,
        seeds: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RANDOM_MULTINOMIAL: classes drawn at random by their logits.

        Operands:
            logits: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 2
            sample_count: INT32 (level 3)
            seeds: TENSOR_INT32 (level 3) of rank 1

        Outputs:
            samples: TENSOR_INT32 (level 3)
        """
    def range(
        self,
        start: Tensor | ArrayLike,
        limit: Tensor | ArrayLike,
        delta: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RANGE: the numbers from a start in equal steps, before a limit.

        Operands:
            start: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3) of rank 1
            limit: of the type of start of rank 1
            delta: of the type of start of rank 1

        Outputs:
            out: of the type of start
        """
    def rank(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RANK: the number of dimensions.

        Operands:
            input: TENSOR_FLOAT32 (level 4), TENSOR_FLOAT16 (level 4), TENSOR_QUANT8_ASYMM (level 4), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 4), TENSOR_BOOL8 (level 4), TENSOR_QUANT8_SYMM_PER_CHANNEL (level 4), TENSOR_QUANT8_SYMM (level 4), TENSOR_QUANT16_ASYMM (level 4), TENSOR_QUANT16_SYMM (level 4)

        Outputs:
            rank: INT32 (level 4)
        """
    def reduce_all(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_ALL: whether all elements along axes are true.

        Operands:
            input: TENSOR_BOOL8 (level 3) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_any(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_ANY: whether any element along axes is true.

        Operands:
            input: TENSOR_BOOL8 (level 3) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_max(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_MAX: the largest element along axes.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_min(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_MIN: the smallest element along axes.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_prod(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_PROD: the product along axes.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_sum(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_SUM: the sum along axes.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def reduce_sum_v2(
        self,
        input: Tensor | ArrayLike,
        axes: Tensor | ArrayLike | Sequence[int],
        keep_dims: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REDUCE_SUM_V2: the sum along axes; a quantized result has its own scale and zero point.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            axes: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            keep_dims: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def relu(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RELU: max(x, 0) of each element.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def relu1(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RELU1: each element clamped to -1 to 1.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def relu6(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RELU6: each element clamped to 0 to 6.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def reshape(
        self,
        input: Tensor | ArrayLike,
        shape: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RESHAPE: the same elements under another shape.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 6) of rank 1 or 2 or 3 or 4
            shape: TENSOR_INT32 (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    @overload
    def resize_bilinear(
        self,
        input: Tensor | ArrayLike,
        width: Tensor | Whole,
        height: Tensor | Whole,
        layout: bool = False,
        align_corners: Tensor | bool = False,
        half_pixel_centers: Tensor | bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RESIZE_BILINEAR: an image resized with bilinear interpolation.

        Overload by_shape: input, width, height, layout, align_corners, half_pixel_centers
        Overload by_scale: input, width_scale, height_scale, layout, align_corners, half_pixel_centers

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            width: INT32
            height: INT32
            layout: BOOL (level 3) False by default
            align_corners: BOOL (level 4) False by default
            half_pixel_centers: BOOL (level 4) False by default
            width_scale: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            height_scale: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16

        Outputs:
            out: of the type of input
        """
    @overload
    def resize_bilinear(
        self,
        input: Tensor | ArrayLike,
        width_scale: Tensor | Number,
        height_scale: Tensor | Number,
        layout: bool = False,
        align_corners: Tensor | bool = False,
        half_pixel_centers: Tensor | bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    @overload
    def resize_nearest_neighbor(
        self,
        input: Tensor | ArrayLike,
        width: Tensor | Whole,
        height: Tensor | Whole,
        layout: bool = False,
        align_corners: Tensor | bool = False,
        half_pixel_centers: Tensor | bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RESIZE_NEAREST_NEIGHBOR: an image resized, each pixel from the nearest one.

        Overload by_shape: input, width, height, layout, align_corners, half_pixel_centers
        Overload by_scale: input, width_scale, height_scale, layout, align_corners, half_pixel_centers

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            width: INT32 (level 3)
            height: INT32 (level 3)
            layout: BOOL (level 3) False by default
            align_corners: BOOL (level 4) False by default
            half_pixel_centers: BOOL (level 4) False by default
            width_scale: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            height_scale: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16

        Outputs:
            out: of the type of input
        """
    @overload
    def resize_nearest_neighbor(
        self,
        input: Tensor | ArrayLike,
        width_scale: Tensor | Number,
        height_scale: Tensor | Number,
        layout: bool = False,
        align_corners: Tensor | bool = False,
        half_pixel_centers: Tensor | bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def reverse(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """REVERSE: the elements along an axis in reverse order.

        Operands:
            input: TENSOR_FLOAT32 (level 7), TENSOR_FLOAT16 (level 7), TENSOR_QUANT8_ASYMM (level 7), TENSOR_QUANT8_ASYMM_SIGNED (level 7), TENSOR_INT32 (level 7) of rank 1 or 2 or 3 or 4 or 5 or 6 or 7 or 8
            axis: TENSOR_INT32 (level 7) (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    def right_shift(
        self,
        x: Tensor | ArrayLike,
        y: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RIGHT_SHIFT: the bits of x moved towards the lowest by y; copies of the sign fill the highest, zeros if x is unsigned.

        Operands:
            x: TENSOR_INT32 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)
            y: of the type of x

        Outputs:
            out: of the type of x
        """
    def rms_norm(
        self,
        input: Tensor | ArrayLike,
        gamma: Tensor | ArrayLike | None,
        axis: Tensor | Whole,
        epsilon: Tensor | Number,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RMS_NORM: the same without the mean: elements are divided by the root of the group's mean square.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            gamma: of the type of input of rank 1 or 2 or 3 or 4 or None
            axis: INT32 (level 3)
            epsilon: FLOAT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def rnn(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        recurrent_weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        hidden_in: Tensor | ArrayLike,
        activation: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """RNN: one step of a simple recurrent network.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 2
            weights: of the type of input of rank 2
            recurrent_weights: of the type of input of rank 2
            bias: of the type of input of rank 1
            hidden_in: of the type of input of rank 2
            activation: INT32

        Outputs:
            hidden_out: of the type of input
            output: of the type of input
        """
    def rnn_sequence(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        recurrent_weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        hidden_in: Tensor | ArrayLike,
        sequence_lengths: Tensor | ArrayLike | None,
        activation: Tensor | Whole,
        clip: Tensor | Number,
        reverse: Tensor | bool,
        time_major: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """RNN_SEQUENCE: a simple recurrent network over a sequence, with any activation and with sequence lengths.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            weights: of the type of input of rank 2
            recurrent_weights: of the type of input of rank 2
            bias: of the type of input of rank 1
            hidden_in: of the type of input of rank 2
            sequence_lengths: TENSOR_INT32 (level 3) of rank 1 or None
            activation: INT32 (level 3)
            clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            reverse: BOOL (level 3)
            time_major: BOOL (level 3)

        Outputs:
            output: of the type of input
            hidden_out: of the type of input
        """
    def roi_align(
        self,
        feature_map: Tensor | ArrayLike,
        rois: Tensor | ArrayLike,
        batch_index: Tensor | ArrayLike,
        out_height: Tensor | Whole,
        out_width: Tensor | Whole,
        height_ratio: Tensor | Number,
        width_ratio: Tensor | Number,
        height_samples: Tensor | Whole,
        width_samples: Tensor | Whole,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ROI_ALIGN: regions of an image resized to one size by averages of interpolated samples.

        Operands:
            feature_map: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            rois: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            batch_index: TENSOR_INT32 (level 3) of rank 1
            out_height: INT32 (level 3)
            out_width: INT32 (level 3)
            height_ratio: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            width_ratio: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            height_samples: INT32 (level 3)
            width_samples: INT32 (level 3)
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of feature_map
        """
    def roi_align_v2(
        self,
        feature_map: Tensor | ArrayLike,
        rois: Tensor | ArrayLike,
        batch_index: Tensor | ArrayLike,
        out_height: Tensor | Whole,
        out_width: Tensor | Whole,
        spatial_scale: Tensor | Number,
        samples: Tensor | Whole,
        half_pixel: Tensor | bool,
        maximum: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ROI_ALIGN_V2: as ROI_ALIGN, by averages or maxima; regions may lie partly or wholly outside the image.

        Operands:
            feature_map: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 4
            rois: of the type of feature_map of rank 2
            batch_index: TENSOR_INT32 of rank 1
            out_height: INT32 (level 3)
            out_width: INT32 (level 3)
            spatial_scale: FLOAT32 (level 3)
            samples: INT32 (level 3)
            half_pixel: BOOL (level 3)
            maximum: BOOL (level 3)

        Outputs:
            out: of the type of feature_map
        """
    def roi_pooling(
        self,
        feature_map: Tensor | ArrayLike,
        rois: Tensor | ArrayLike,
        batch_index: Tensor | ArrayLike,
        out_height: Tensor | Whole,
        out_width: Tensor | Whole,
        height_ratio: Tensor | Number,
        width_ratio: Tensor | Number,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ROI_POOLING: regions of an image resized to one size by maxima.

        Operands:
            feature_map: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            rois: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 2
            batch_index: TENSOR_INT32 (level 3) of rank 1
            out_height: INT32 (level 3)
            out_width: INT32 (level 3)
            height_ratio: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            width_ratio: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of feature_map
        """
    def rotary_embedding(
        self,
        input: Tensor | ArrayLike,
        cos: Tensor | ArrayLike,
        sin: Tensor | ArrayLike,
        interleaved: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ROTARY_EMBEDDING: pairs of elements rotated by angles that depend on the row: x · cos + turned(x) · sin.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 1 or 2 or 3 or 4
            cos: of the type of input of rank 1 or 2 or 3 or 4
            sin: of the type of input of rank 1 or 2 or 3 or 4
            interleaved: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def round(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """ROUND: the nearest integer; halves to even.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def rsqrt(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """RSQRT: 1 / √x of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 7), TENSOR_QUANT8_ASYMM_SIGNED (level 7)

        Outputs:
            out: of the type of input
        """
    def scatter_elements(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        indices: Tensor | ArrayLike,
        updates: Tensor | ArrayLike,
        reduction: Tensor | Whole,
        from_end: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SCATTER_ELEMENTS: a tensor with elements replaced, or combined with updates; positions are as in GATHER_ELEMENTS.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            indices: TENSOR_INT32 (level 3)
            updates: of the type of input
            reduction: INT32 (level 3)
            from_end: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def scatter_nd(
        self,
        input: Tensor | ArrayLike,
        indices: Tensor | ArrayLike,
        updates: Tensor | ArrayLike,
        reduction: Tensor | Whole,
        from_end: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SCATTER_ND: a tensor with elements or slices replaced, or combined with updates; positions are as in GATHER_ND.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            indices: TENSOR_INT32 (level 3)
            updates: of the type of input
            reduction: INT32 (level 3)
            from_end: BOOL (level 3)

        Outputs:
            out: of the type of input
        """
    def select(
        self,
        condition: Tensor | ArrayLike,
        a: Tensor | ArrayLike,
        b: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SELECT: the elements of one of two tensors, chosen by a condition for each.

        Operands:
            condition: TENSOR_BOOL8 (level 3)
            a: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            b: of the type of a

        Outputs:
            out: of the type of a
        """
    def shape(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SHAPE: the dimensions.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3)

        Outputs:
            out: TENSOR_INT32 (level 3)
        """
    def sign(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SIGN: -1, 0 or 1 by the sign of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def sin(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SIN: the sine of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def slice(
        self,
        input: Tensor | ArrayLike,
        begin: Tensor | ArrayLike | Sequence[int],
        size: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SLICE: a block of the tensor.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            begin: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            size: TENSOR_INT32 (level 3) (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    def softmax(
        self,
        input: Tensor | ArrayLike,
        beta: Tensor | Number,
        axis: Tensor | Whole = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SOFTMAX: exp(beta · x) divided by its sum along an axis.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            beta: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16 beside TENSOR_FLOAT16
            axis: INT32 (level 3) -1 by default

        Outputs:
            out: of the type of input
        """
    def softplus(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SOFTPLUS: log(1 + exp(x)), which stays finite.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def space_to_batch_nd(
        self,
        input: Tensor | ArrayLike,
        block_shape: Tensor | ArrayLike | Sequence[int],
        paddings: Tensor | ArrayLike | Sequence[int],
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SPACE_TO_BATCH_ND: blocks of pixels moved from height and width into the batch.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            block_shape: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            paddings: TENSOR_INT32 (level 2) (a list of numbers) of rank 2
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of input
        """
    def space_to_depth(
        self,
        input: Tensor | ArrayLike,
        block_size: Tensor | Whole,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SPACE_TO_DEPTH: blocks of pixels rearranged into channels.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            block_size: INT32
            layout: BOOL (level 3) False by default

        Outputs:
            out: of the type of input
        """
    def split(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        num_splits: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, ...]:
        """SPLIT: equal parts of the tensor along an axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            num_splits: INT32 (level 3)

        Outputs:
            out: any number, at least 1, of of the type of input
        """
    def sqrt(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SQRT: the square root of each element.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3)

        Outputs:
            out: of the type of input
        """
    def squeeze(
        self,
        input: Tensor | ArrayLike,
        dims: Tensor | ArrayLike | Sequence[int] | None = None,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SQUEEZE: the tensor without axes of size 1.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            dims: TENSOR_INT32 (level 2) (a list of numbers) of rank 1 or None

        Outputs:
            out: of the type of input
        """
    def strided_slice(
        self,
        input: Tensor | ArrayLike,
        begin: Tensor | ArrayLike | Sequence[int],
        end: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        begin_mask: Tensor | Whole,
        end_mask: Tensor | Whole,
        shrink_axis_mask: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """STRIDED_SLICE: every n-th element between bounds along each axis.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            begin: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            end: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            strides: TENSOR_INT32 (level 2) (a list of numbers) of rank 1
            begin_mask: INT32 (level 2)
            end_mask: INT32 (level 2)
            shrink_axis_mask: INT32 (level 2)

        Outputs:
            out: of the type of input
        """
    def sub(
        self,
        lhs: Tensor | ArrayLike,
        rhs: Tensor | ArrayLike,
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """SUB: the difference of two tensors, element by element, with broadcasting.

        Operands:
            lhs: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 4) of rank 1 or 2 or 3 or 4
            rhs: of the type of lhs of rank 1 or 2 or 3 or 4
            activation: INT32 (level 2) (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of lhs
        """
    def svdf(
        self,
        input: Tensor | ArrayLike,
        weights_feature: Tensor | ArrayLike,
        weights_time: Tensor | ArrayLike,
        bias: Tensor | ArrayLike | None,
        state_in: Tensor | ArrayLike,
        rank: Tensor | Whole,
        activation: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """SVDF: one step of a filter over time, factored by singular values.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3) of rank 2
            weights_feature: of the type of input of rank 2
            weights_time: of the type of input of rank 2
            bias: of the type of input of rank 1 or None
            state_in: of the type of input of rank 2
            rank: INT32
            activation: INT32

        Outputs:
            state_out: of the type of input
            output: of the type of input
        """
    def take(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        indices: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TAKE: slices along an axis at the given indices; negative indices count from the end.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            indices: TENSOR_INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    def tanh(
        self,
        input: Tensor | ArrayLike,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TANH: the hyperbolic tangent of each element.

        Operands:
            input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4

        Outputs:
            out: of the type of input
        """
    def tile(
        self,
        input: Tensor | ArrayLike,
        multiples: Tensor | ArrayLike | Sequence[int],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TILE: the tensor repeated along each axis.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            multiples: TENSOR_INT32 (level 3) (a list of numbers) of rank 1

        Outputs:
            out: of the type of input
        """
    def topk_v2(
        self,
        input: Tensor | ArrayLike,
        k: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """TOPK_V2: the k largest elements of each row, and their indices.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            k: INT32 (level 3)

        Outputs:
            values: of the type of input
            indices: TENSOR_INT32 (level 3)
        """
    def top_k(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        k: Tensor | Number,
        largest: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor]:
        """TOP_K: the k largest or smallest elements along an axis, and their indices; of equal elements, the first comes first.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3)
            axis: INT32 (level 3)
            k: INT32 (level 3), TENSOR_INT32 (level 3)
            largest: BOOL (level 3)

        Outputs:
            values: of the type of input
            indices: TENSOR_INT32 (level 3)
        """
    def transpose(
        self,
        input: Tensor | ArrayLike,
        perm: Tensor | ArrayLike | Sequence[int] | None = None,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TRANSPOSE: the tensor with its axes in another order.

        Operands:
            input: TENSOR_FLOAT32 (level 2), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 2), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 1 or 2 or 3 or 4
            perm: TENSOR_INT32 (level 2) (a list of numbers) of rank 1 or None

        Outputs:
            out: of the type of input
        """
    @overload
    def transpose_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        pad_left: Tensor | Whole,
        pad_right: Tensor | Whole,
        pad_top: Tensor | Whole,
        pad_bottom: Tensor | Whole,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TRANSPOSE_CONV_2D: the transpose of a convolution, plus bias and activation.

        Overload explicit_padding: input, filter, bias, pad_left, pad_right, pad_top, pad_bottom, stride_w, stride_h, activation, layout
        Overload implicit_padding: input, filter, bias, output_shape, padding_scheme, stride_w, stride_h, activation, layout

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4) of rank 4
            filter: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED or TENSOR_QUANT8_SYMM_PER_CHANNEL beside TENSOR_QUANT8_ASYMM_SIGNED of rank 4
            bias: TENSOR_FLOAT32 beside TENSOR_FLOAT32, TENSOR_FLOAT16 beside TENSOR_FLOAT16, TENSOR_INT32 beside TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED of rank 1
            pad_left: INT32 (level 3)
            pad_right: INT32 (level 3)
            pad_top: INT32 (level 3)
            pad_bottom: INT32 (level 3)
            stride_w: INT32 (level 3)
            stride_h: INT32 (level 3)
            activation: INT32 (level 3) (none, relu, relu1, relu6), none by default
            layout: BOOL (level 3) False by default
            output_shape: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            padding_scheme: INT32 (level 3)

        Outputs:
            out: of the type of input
        """
    @overload
    def transpose_conv_2d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        output_shape: Tensor | ArrayLike | Sequence[int],
        padding_scheme: PaddingCode | int | str,
        stride_w: Tensor | Whole,
        stride_h: Tensor | Whole,
        activation: FuseCode | int | str = ...,
        layout: bool = False,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor: ...
    def transpose_conv_3d(
        self,
        input: Tensor | ArrayLike,
        filter: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        paddings: Tensor | ArrayLike | Sequence[int],
        strides: Tensor | ArrayLike | Sequence[int],
        activation: FuseCode | int | str = ...,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Tensor:
        """TRANSPOSE_CONV_3D: the transpose of a convolution of a volume, plus bias and activation.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 5
            filter: of the type of input of rank 5
            bias: of the type of input of rank 1
            paddings: TENSOR_INT32 (level 3) (a list of numbers) of rank 2
            strides: TENSOR_INT32 (level 3) (a list of numbers) of rank 1
            activation: INT32 (level 3) (none, relu, relu1, relu6), none by default

        Outputs:
            out: of the type of input
        """
    def unidirectional_sequence_lstm(
        self,
        input: Tensor | ArrayLike,
        input_to_input_weights: Tensor | ArrayLike | None,
        input_to_forget_weights: Tensor | ArrayLike,
        input_to_cell_weights: Tensor | ArrayLike,
        input_to_output_weights: Tensor | ArrayLike,
        recurrent_to_input_weights: Tensor | ArrayLike | None,
        recurrent_to_forget_weights: Tensor | ArrayLike,
        recurrent_to_cell_weights: Tensor | ArrayLike,
        recurrent_to_output_weights: Tensor | ArrayLike,
        cell_to_input_weights: Tensor | ArrayLike | None,
        cell_to_forget_weights: Tensor | ArrayLike | None,
        cell_to_output_weights: Tensor | ArrayLike | None,
        input_gate_bias: Tensor | ArrayLike | None,
        forget_gate_bias: Tensor | ArrayLike,
        cell_bias: Tensor | ArrayLike,
        output_gate_bias: Tensor | ArrayLike,
        projection_weights: Tensor | ArrayLike | None,
        projection_bias: Tensor | ArrayLike | None,
        output_state_in: Tensor | ArrayLike,
        cell_state_in: Tensor | ArrayLike,
        activation: Tensor | Whole,
        cell_clip: Tensor | Number,
        proj_clip: Tensor | Number,
        time_major: Tensor | bool,
        input_layer_norm_weights: Tensor | ArrayLike | None = None,
        forget_layer_norm_weights: Tensor | ArrayLike | None = None,
        cell_layer_norm_weights: Tensor | ArrayLike | None = None,
        output_layer_norm_weights: Tensor | ArrayLike | None = None,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Any:
        """UNIDIRECTIONAL_SEQUENCE_LSTM: an LSTM over a sequence.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            input_to_input_weights: of the type of input of rank 2 or None
            input_to_forget_weights: of the type of input of rank 2
            input_to_cell_weights: of the type of input of rank 2
            input_to_output_weights: of the type of input of rank 2
            recurrent_to_input_weights: of the type of input of rank 2 or None
            recurrent_to_forget_weights: of the type of input of rank 2
            recurrent_to_cell_weights: of the type of input of rank 2
            recurrent_to_output_weights: of the type of input of rank 2
            cell_to_input_weights: of the type of input of rank 1 or None
            cell_to_forget_weights: of the type of input of rank 1 or None
            cell_to_output_weights: of the type of input of rank 1 or None
            input_gate_bias: of the type of input of rank 1 or None
            forget_gate_bias: of the type of input of rank 1
            cell_bias: of the type of input of rank 1
            output_gate_bias: of the type of input of rank 1
            projection_weights: of the type of input of rank 2 or None
            projection_bias: of the type of input of rank 1 or None
            output_state_in: of the type of input of rank 2
            cell_state_in: of the type of input of rank 2
            activation: INT32 (level 3)
            cell_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            proj_clip: FLOAT32 beside TENSOR_FLOAT32, FLOAT16 beside TENSOR_FLOAT16
            time_major: BOOL (level 3)
            input_layer_norm_weights: of the type of input of rank 1 or None
            forget_layer_norm_weights: of the type of input of rank 1 or None
            cell_layer_norm_weights: of the type of input of rank 1 or None
            output_layer_norm_weights: of the type of input of rank 1 or None

        Outputs:
            output: of the type of input
            output_state_out: of the type of input
            cell_state_out: of the type of input
        """
    def unidirectional_sequence_rnn(
        self,
        input: Tensor | ArrayLike,
        weights: Tensor | ArrayLike,
        recurrent_weights: Tensor | ArrayLike,
        bias: Tensor | ArrayLike,
        hidden_in: Tensor | ArrayLike,
        activation: Tensor | Whole,
        time_major: Tensor | Whole,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> Any:
        """UNIDIRECTIONAL_SEQUENCE_RNN: a simple recurrent network over a sequence.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3) of rank 3
            weights: of the type of input of rank 2
            recurrent_weights: of the type of input of rank 2
            bias: of the type of input of rank 1
            hidden_in: of the type of input of rank 2
            activation: INT32 (level 3)
            time_major: INT32 (level 3)

        Outputs:
            output: of the type of input
            hidden_out: of the type of input
        """
    def unique(
        self,
        input: Tensor | ArrayLike,
        axis: Tensor | Whole,
        sorted: Tensor | bool,
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """UNIQUE: the different slices along an axis; the first position of each, the one equal to each slice, and their counts.

        Operands:
            input: TENSOR_FLOAT32 (level 3), TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 3), TENSOR_BOOL8 (level 3) of rank 1 or 2 or 3 or 4
            axis: INT32 (level 3)
            sorted: BOOL (level 3)

        Outputs:
            out: of the type of input
            first: TENSOR_INT32
            inverse: TENSOR_INT32
            counts: TENSOR_INT32
        """
    @overload
    def while_(
        self,
        condition_model: Model,
        body_model: Model,
        *inputs: Tensor | ArrayLike,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, ...]:
        """WHILE: a body model, repeated while a condition model gives true.

        Operands:
            condition_model: a finished Model
            body_model: a finished Model
            inputs: any number, at least 1, of operands of any type

        Outputs:
            outputs: any number, at least 1, of operands of any type
        """
    @overload
    def while_(
        self,
        condition_model: Model,
        body_model: Model,
        inputs: Sequence[Tensor | ArrayLike],
        *,
        out: Out = None,
        scale: float | None = None,
        zero_point: int = 0,
        name: str = "",
    ) -> tuple[Tensor, ...]: ...
